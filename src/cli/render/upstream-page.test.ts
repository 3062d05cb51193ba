import { create, type MessageInitShape } from "@bufbuild/protobuf";
import pc from "picocolors";
import { expect, test } from "vitest";
import { millis } from "../../core/ids.ts";
import { UpstreamExplanationSchema } from "../../wire/gen/llmgw/v1/upstream_pb.js";
import { upstreamPage } from "./upstream-page.ts";

const page = (more: MessageInitShape<typeof UpstreamExplanationSchema>): string =>
  upstreamPage(
    create(UpstreamExplanationSchema, {
      ...{ name: "cloud", url: "https://api.example/v1", asked: true },
      models: [
        { name: "big", remote: "org/Big-1" },
        { name: "small", remote: "small" },
      ],
      ...more,
    }),
    { now: millis(0), colours: pc.createColors(false) },
  );

test("how it is asked, and for what", () => {
  const all = {
    keyFile: "/etc/llmgw/cloud.key",
    caFile: "/etc/ca.pem",
    concurrency: 8,
    inFlight: 3,
    aliases: ["chat"],
  };
  expect(page(all)).toMatchInlineSnapshot(`
    "upstream/cloud
      State     it is asked; routers find out by asking whether it answers
      Address   https://api.example/v1
      Key       /etc/llmgw/cloud.key
      Trusts    /etc/ca.pem
      Requests  3 in flight, at most 8 for each router
      Aliases   chat

    NAME   THERE
    big    org/Big-1
    small  small
    "
  `);
});

test.each([
  [{ trouble: "there is no file /k", asked: false }, "it is not asked: there is no file /k"],
  [{ trouble: "there is no file /k", asked: true }, "it is asked with what was read before: there is no file /k"],
  [{}, "Key       none"],
])("%j: %s", (more, want) => {
  expect(page(more)).toContain(want);
});
