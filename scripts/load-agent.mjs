// Run as `load-agent.mjs agent --version`: loads all that an agent may come to load, and ends. For Node's compile cache, see boot.mjs.
import { readdirSync } from "node:fs";
import "../src/main.ts";
import "../src/run/agent.ts";

// What an agent loads only when it needs it.
const folder = new URL("../src/agent/", import.meta.url);
const names = readdirSync(folder, { recursive: true }).filter((name) => /(?<!\.test)\.[jt]s$/.test(name));
await Promise.all(names.map((name) => import(new URL(name, folder).href)));
