# SPDX-License-Identifier: Apache-2.0
"""gRPC services of the descriptions beside this file, at sockets of root's."""
import os
from concurrent import futures

import grpc

CALLS = 8   # at once: watchers, and calls, of which a driver makes one after the other
# A device plugin's requests name each unit of memory.
MESSAGE = 64 << 20


def handler(descriptor, methods):
    """A service of these methods, whose messages' types the description has."""
    def of(name):
        method = descriptor.methods_by_name[name]
        kind = (grpc.unary_stream_rpc_method_handler if method.server_streaming else
                grpc.unary_unary_rpc_method_handler)
        return kind(
            methods[name], request_deserializer=method.input_type._concrete_class.FromString,
            response_serializer=method.output_type._concrete_class.SerializeToString)
    return grpc.method_handlers_generic_handler(descriptor.full_name, {m: of(m) for m in methods})


def listen(path, *services):
    """Serves at a socket that root alone may open. It replaces that of a driver that was killed."""
    server = grpc.server(futures.ThreadPoolExecutor(CALLS), options=[('grpc.max_receive_message_length', MESSAGE)])
    server.add_generic_rpc_handlers(services)
    mask = os.umask(0o077)
    made = server.add_insecure_port('unix:' + path)
    os.umask(mask)
    if not made:
        raise SystemExit(f'wormhole: error: no socket can be made at {path}')
    server.start()
    return server


def call(path, service, method, request, timeout):
    """Calls a method of a service at a socket; grpc.RpcError if that does not answer in time, in seconds."""
    answer = service.methods_by_name[method].output_type._concrete_class
    with grpc.insecure_channel('unix:' + path, options=[('grpc.max_receive_message_length', MESSAGE)]) as channel:
        unary = channel.unary_unary(f'/{service.full_name}/{method}', response_deserializer=answer.FromString,
                                    request_serializer=type(request).SerializeToString)
        return unary(request, timeout=timeout)
