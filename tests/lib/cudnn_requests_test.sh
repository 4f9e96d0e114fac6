#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that an execution by cuDNN is one request to the worker, though its variant
# pack is made, set, finalized and destroyed for it. It is also one request where the whole graph
# is made for it, once the same graph was made before. None of these is waited for. It runs over
# the fake library.
. "$(dirname "$0")/lib.sh"

plan 7
start_server
one=$(requests cudnn 1) && [ "${one% *}" -gt 0 ]
point "plan_is_executed"
more=$(hundred cudnn) && [ "$more" = "100 0" ]
point "each_more_with_its_variant_pack_is_one_request_and_no_wait" || echo "# $more"
more=$(hundred cudnn_graph) && [ "$more" = "100 0" ]
point "so_is_each_more_with_its_whole_graph" || echo "# $more"
more=$(hundred cudnn_graph wide) && [ "$more" = "100 0" ]
point "nor_is_one_of_many_tensors_waited_for" || echo "# $more"
# The program makes an execution, a fill, a copy each way, and waits for the copy back and for the
# stream, which is at rest then: the client answers that.
more=$(hundred cudnn_graph copies) && [ "$more" = "500 100" ]
point "fills_and_copies_between_them_are_not_waited_for_but_for_what_comes_back" || echo "# $more"
# The program makes three descriptors and a softmax, in the classic way.
more=$(hundred cudnn_kept) && [ "$more" = "100 0" ]
point "layer_of_descriptors_made_for_it_is_one_request_and_no_wait" || echo "# $more"
more=$(hundred cudnn_kept asking) && [ "$more" = "100 0" ]
point "nor_is_a_size_asked_for_again_before_each" || echo "# $more"
