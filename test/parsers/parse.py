"""Shows command lines to a program's own parser, and writes down what it read or why it refused.

Arguments: the program, a file of cases, a file for the answers.
"""

import argparse
import contextlib
import io
import json
import sys


def vllm():
    from vllm.entrypoints.common.cli_args import make_arg_parser, validate_parsed_serve_args
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    parser = FlexibleArgumentParser(prog="vllm")
    serve = make_arg_parser(parser.add_subparsers(dest="subparser").add_parser("serve"))

    def read(argv):
        args = parser.parse_args(argv)
        validate_parsed_serve_args(args)
        return vars(args)

    return read, serve._option_string_actions


def sglang():
    from sglang.srt.server_args import ServerArgs

    try:
        from sglang.srt.utils.server_args_config_parser import ConfigArgumentMerger
    except ImportError:
        from sglang.srt.server_args_config_parser import ConfigArgumentMerger

    parser = argparse.ArgumentParser(prog="sglang")
    ServerArgs.add_cli_args(parser)

    def read(argv):
        if "--config" in argv:
            argv = ConfigArgumentMerger(parser).merge_config_with_args(argv)
        args = vars(parser.parse_args(argv))
        # Of the two names of an option each version keeps the value under another.
        for name, other in [("tp_size", "tensor_parallel_size"), ("pp_size", "pipeline_parallel_size")]:
            args.setdefault(name, args.get(other))
        return args

    return read, parser._option_string_actions


def ray():
    from ray.scripts.scripts import cli

    def read(argv):
        command = cli.get_command(None, argv[0])
        return command.make_context(argv[0], list(argv[1:])).params

    start = cli.get_command(None, "start")
    return read, [option for param in start.params for option in param.opts]


def answer(read, argv):
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return {"read": read(argv)}
    except SystemExit:
        return {"refusal": said.getvalue().strip().splitlines()[-1]}
    except Exception as error:
        return {"refusal": f"{type(error).__name__}: {error}"}


def main():
    program, cases, answers = sys.argv[1:]
    read, options = {"vllm": vllm, "sglang": sglang, "ray": ray}[program]()
    with open(cases) as file:
        found = [answer(read, argv) for argv in json.load(file)]
    with open(answers, "w") as file:
        json.dump({"answers": found, "options": sorted(options)}, file, default=str)


main()
