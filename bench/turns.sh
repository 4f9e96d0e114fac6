# SPDX-License-Identifier: Apache-2.0
# Benches source this after tests/world.sh. It measures the same programs in several worlds,
# in turns. $worlds names the worlds, $programs the folder of tests/programs/, $bench that
# of bench/.

# Runs the worlds alternately, in reverse order each second turn, so that disturbances of
# the machine affect all of them. The median of the turns counts. The first failure ends the
# turns.
in_turns() { # TURNS COMMAND...
	turns=$1
	shift
	for turn in $(seq "$turns"); do
		order=$worlds
		[ $((turn % 2)) = 1 ] || order=$(echo "$worlds" | tr ' ' '\n' | tac)
		"$@" || return 1
	done
}

# --- Training ------------------------------------------------------------------------

# The CPU limits the rate of a short step, and the rate varies by a fifth with the machine's
# other guests, from CPU to CPU and from one tenth of a second to the next. So the worlds'
# programs train in short turns, one after the other, on one CPU, and each turn is compared
# with those of the same round. Prints lines `WORLD train NAME UNIT RATE`.
train_one() { # NAME ROUNDS ARGUMENT...
	name=$1 rounds=$2
	shift 2
	[ -x "$programs/$name" ] || return 0
	start_trainers "$@"
	# The first round is for work that is done once.
	one_round | grep '^#' || in_turns "$rounds" one_round
	stop_trainers
}

# Starts one process for each world. It trains once for each line that it reads.
start_trainers() { # ARGUMENT...
	declare -gA lines rates
	trainers=
	dir=$(mktemp -d)
	for w in $worlds; do
		mkfifo "$dir/$w.lines" "$dir/$w.rates"
		exec {fd}<>"$dir/$w.lines" && lines[$w]=$fd
		exec {fd}<>"$dir/$w.rates" && rates[$w]=$fd
		in_world $w shared ${trainer_cpu:-taskset -c $(($(nproc) - 1))} timeout 180 \
			"$programs/$name" "$@" <&"${lines[$w]}" 2>&"${rates[$w]}" >/dev/null &
		trainers="$trainers $!"
	done
	rm -rf "$dir"
	order=$worlds
}

one_round() {
	for w in $order; do
		echo turn >&"${lines[$w]}"
		read -r -t 60 line <&"${rates[$w]}"
		case $line in
		"rate "*) echo "$w train $name ${line##* } $(echo "$line" | cut -d' ' -f2)" ;;
		*) echo "# $w: $name failed: ${line:-no rate in time}"; return 1 ;;
		esac
	done
}

stop_trainers() {
	for w in $worlds; do
		echo end >&"${lines[$w]}"
	done
	# shellcheck disable=SC2086
	wait $trainers
	for w in $worlds; do
		exec {lines[$w]}>&- {rates[$w]}>&-
	done
}

# --- Single layers (layers.cu) -----------------------------------------------------------

# Prints lines `WORLD layer NAME NS STEPS HASH` of a program, layers or layers_dnn.
layers_turn() { # PROGRAM MS
	for w in $order; do
		in_world $w shared ${layers_cpu:-} timeout 120 "$bench/$1" "ms=$2" \
			>"$world_dir/said" 2>"$world_dir/err" ||
			{ echo "# $w: $1 failed: $(tail -n 1 "$world_dir/err")"; return 1; }
		sed "s/^/$w /" "$world_dir/said"
	done
}

# Prints lines `crossings NAME N`: requests to the worker per step, from the difference of
# two runs.
layers_crossings() { # PROGRAM
	for i in $(seq 0 7); do
		for n in 1 11; do
			WORMHOLE_STATS=1 in_world loopback shared timeout 60 "$bench/$1" "layer=$i" "steps=$n" \
				>"$world_dir/said.$n" 2>"$world_dir/err.$n" ||
				{ echo "# loopback: $1 failed: $(tail -n 1 "$world_dir/err.$n")"; return 1; }
		done
		echo "crossings $(sed -n 's/^layer \([a-z_]*\) .*/\1/p' "$world_dir/said.1")" \
			"$(sed -n 's/^wormhole: info: \([0-9]*\) .*/\1/p' "$world_dir/err.1" "$world_dir/err.11" |
				awk 'NR == 1 { few = $1 } END { print ($1 - few) / 10 }')"
	done
}
