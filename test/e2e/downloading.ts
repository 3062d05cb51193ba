// A program that downloads one file and says where it ended: the kill test's victim.
import { millis } from "../../src/core/ids.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createDownloader } from "../../src/platform/fetch/download.ts";

const [url = "", target = "", sha256 = ""] = process.argv.slice(2);
const downloader = createDownloader({
  env: {},
  clock: systemClock,
  parts: 3,
  retry: { tries: 5, firstDelay: millis(10), maxDelay: millis(100) },
});
const outcome = await downloader.file({ url, target, ...(sha256 === "" ? {} : { sha256 }) });
process.stdout.write(`${JSON.stringify(outcome)}\n`);
await downloader.close();
process.exitCode = outcome.ok ? 0 : 1;
