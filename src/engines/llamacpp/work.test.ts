import { expect, test } from "vitest";
import { readWork } from "./work.ts";

const page = `# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed.
# TYPE llamacpp:prompt_tokens_total counter
llamacpp:prompt_tokens_total 1234
llamacpp:n_decode_total 1.5e+06
llamacpp:requests_processing 2
llamacpp:requests_deferred 3
`;

test.each([
  { name: "requests at work and waiting, and every batch so far", text: page, want: { requests: 5, done: 1_500_000 } },
  {
    name: "nothing waits where that is not told",
    text: page.replace(/.*deferred.*\n/, ""),
    want: { requests: 2, done: 1_500_000 },
  },
  { name: "a page without the counter", text: page.replace(/.*n_decode.*\n/, ""), want: undefined },
  { name: "an error in the page's place", text: '{"error":{"code":501}}', want: undefined },
  { name: "nothing", text: "", want: undefined },
])("$name", ({ text, want }) => {
  expect(readWork(text)).toEqual(want);
});
