interface Ready {
  readonly model: string;
  /** The router's base URL, with or without /v1. */
  readonly routerUrl: string;
  /** What to type for this program: it need not be on PATH. */
  readonly program: string;
}

/** What a person pastes to get a first answer. */
export function readyBlock({ model, routerUrl, program }: Ready): string {
  const base = `${routerUrl.replace(/\/+$/, "").replace(/\/v1$/, "")}/v1`;
  const body = JSON.stringify({ model, messages: [{ role: "user", content: "Write one sentence about the sea." }] });
  return `
Ready: ${model} answers at ${base}

  curl ${base}/chat/completions -H 'content-type: application/json' \\
    -d '${body}'

The openai client takes base_url="${base}" and any api_key. In another terminal:

  ${program} ctl chat ${model} "Write one sentence about the sea."
  ${program} ctl status

Ctrl-C stops everything, engines too.
`;
}
