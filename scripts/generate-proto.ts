import { spawnSync } from "node:child_process";

/** Writes src/wire/gen from proto/. Needs no network: both programs are npm packages. */
const bin = `${import.meta.dirname}/../node_modules/.bin`;
const env = { ...process.env, PATH: `${bin}:${process.env["PATH"] ?? ""}` };
for (const step of [["lint"], ["generate"]]) {
  const { status } = spawnSync(`${bin}/buf`, step, { stdio: "inherit", env, cwd: `${import.meta.dirname}/..` });
  if (status !== 0) process.exit(status ?? 1);
}
