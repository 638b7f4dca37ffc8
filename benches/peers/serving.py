"""Servers of one model, measured in turn: python serving.py NAME=URL... [--clients 1,4,8,16] [--tokens 64] [--rounds 3]

For each number of clients: the tokens that all of them get in a second, after prompts of 8. Then the time to the first token of a prompt of
2,000 known tokens and 50 others, and of the 50 others alone. Servers answer /v1/completions; temperature 0, nothing ends
a text but its limit (`--ban ID` bans a token that would). Best of the rounds, in which the servers take turns.
"""

import argparse
import concurrent.futures
import json
import random
import time
import urllib.request


def prompt_of(options, n, seed):
    """n random tokens, different for each seed."""
    make = random.Random(seed)
    return [make.randrange(300, options.vocabulary) for _ in range(n)]


def post(url, body):
    request = urllib.request.Request(f"{url}/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
    return urllib.request.urlopen(request)


def body_of(options, prompt, tokens):
    body = {"prompt": prompt, "max_tokens": tokens, "temperature": 0}
    if options.ban:
        body["logit_bias"] = {str(token): -100 for token in options.ban}
    return body


def together(url, options, clients, seed):
    """Tokens per second of so many clients."""
    prompts = [prompt_of(options, 8, seed + i) for i in range(clients)]

    def ask(prompt):
        with post(url, body_of(options, prompt, options.tokens)) as answer:
            return json.load(answer)["usage"]["completion_tokens"]

    begin = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        tokens = sum(pool.map(ask, prompts))
    return tokens / (time.perf_counter() - begin)


def first_token(url, options, prompt):
    """Seconds to the first token."""
    begin = time.perf_counter()
    with post(url, {**body_of(options, prompt, 2), "stream": True}) as answer:
        for line in answer:
            if line.startswith(b"data: "):
                return time.perf_counter() - begin
    raise RuntimeError("no token came")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("servers", nargs="+", metavar="NAME=URL")
    parser.add_argument("--clients", default="1,4,8,16")
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ban", type=int, action="append", metavar="ID")
    parser.add_argument("--prefix", type=int, default=2000, help="known tokens; 0: none")
    parser.add_argument("--vocabulary", type=int, default=30000, help="prompts have tokens below this one")
    options = parser.parse_args()
    servers = [server.split("=", 1) for server in options.servers]
    best = {}
    for turn in range(options.rounds):
        for clients in map(int, options.clients.split(",")):
            for name, url in servers:
                rate = together(url, options, clients, 1000 * turn)
                best[name, clients] = max(best.get((name, clients), 0), rate)
    for clients in map(int, options.clients.split(",")):
        rates = "  ".join(f"{name} {best[name, clients]:8.1f}" for name, _ in servers)
        print(f"{clients:3} clients, tokens/s:  {rates}")
    if not options.prefix:
        return
    shared, times = prompt_of(options, options.prefix, 7), {}
    for turn in range(options.rounds):
        for name, url in servers:
            rest = prompt_of(options, 50, 5000 + turn)
            if turn == 0:
                times[name, "new"] = first_token(url, options, shared)
            for kind, prompt in [("known", shared + rest), ("rest alone", rest[::-1])]:
                seconds = first_token(url, options, prompt)
                times[name, kind] = min(times.get((name, kind), seconds), seconds)
    for name, _ in servers:
        shown = ", ".join(f"{kind} {1000 * times[name, kind]:.0f} ms" for kind in ["new", "known", "rest alone"])
        print(f"{name}: first token: {shown}")


main()
