#!/bin/sh
# curl against a server of the model `plays` that wants a key: sh curl.sh URL KEY. The commands are those of
# docs/serving.md.
set -eu
url=$1 key=$2

# ask PATH JSON: the body of an answer of 200.
ask() {
    curl --silent --show-error --fail-with-body --no-buffer "$url$1" -H "Authorization: Bearer $key" \
        -H 'Content-Type: application/json' -d "$2"
}

# has TEXT WORDS: fails if the words are not in the text.
has() {
    case $1 in
    *"$2"*) ;;
    *) echo "'$2' is not in: $1" >&2; exit 1 ;;
    esac
}

has "$(curl --silent --fail "$url/health")" '"status":"ok"'
has "$(ask /v1/chat/completions '{"messages": [{"role": "user", "content": "Speak."}], "max_tokens": 8}')" \
    '"role":"assistant"'
has "$(ask /v1/completions '{"prompt": "ROMEO:", "max_tokens": 8, "stream": true}')" 'data: [DONE]'
has "$(ask /tokenize '{"content": "ROMEO"}')" '"tokens":['
has "$(curl --silent --fail -H "Authorization: Bearer $key" "$url/metrics")" 'tensorlib_generated_tokens_total'

# Statuses of what is refused.
status() { curl --silent --output /dev/null --write-out '%{http_code}' "$@"; }
[ "$(status "$url/v1/models")" = 401 ]
[ "$(status -H "Authorization: Bearer $key" "$url/nothing")" = 404 ]
[ "$(status -H "Authorization: Bearer $key" -d '{}' "$url/v1/completions")" = 415 ]

# A client that leaves, and a body that is sent without a length and after asking whether it may be.
timeout 0.3 curl --silent --no-buffer "$url/v1/completions" -H "Authorization: Bearer $key" \
    -H 'Content-Type: application/json' -d '{"prompt": "O", "max_tokens": 200, "n": 8, "stream": true}' >/dev/null || true
has "$(printf '{"prompt": "O", "max_tokens": 2}' | curl --silent --fail-with-body "$url/v1/completions" -T - -X POST \
    -H "Authorization: Bearer $key" -H 'Content-Type: application/json' -H 'Expect: 100-continue')" '"text"'
echo "curl works"
