import { z } from "zod";
import { listen, listenOrOff, serverAddress } from "./addresses.ts";
import { duration, integer, path, secret, setting } from "./fields.ts";
import { routerKeys } from "./router-keys.ts";

const serverTls = z.strictObject({
  ca: setting(
    path().optional(),
    "Certificates of the authority that the control planes' certificates must come from.",
    "the machine's own certificate store",
  ),
  cert: setting(path(), "The router's certificate for control planes, with the role router or admin."),
  key: setting(path(), "Its private key, readable by nobody else."),
});

export const routerSchema = z.strictObject({
  servers: setting(
    z.array(serverAddress()).min(1),
    "Where the control planes are. One of them is enough; the next one is tried when one does not answer.",
  ),
  server_tls: setting(
    serverTls.optional(),
    "Certificates for the way to the control planes; servers must then be https://.",
    "the machine's own certificate store, and token",
  ),
  token: setting(
    secret().optional(),
    "What the router proves itself by where it has no certificate: `llmgw ctl token create NAME --role router` makes one.",
    "none",
  ),
  listen: setting(listen("0.0.0.0").prefault("0.0.0.0:8080"), "Where clients ask."),
  ...routerKeys,
  workers: setting(
    integer({ min: 1, max: 64 }).prefault(1),
    "Processes that share the port; limits of keys and slots of engines are divided among them.",
  ),
  state_dir: setting(
    path().optional(),
    "What must outlive the router: the last known routes and keys, and usage that no control plane has taken yet.",
    "/var/lib/llmgw-router, or below --data-dir",
  ),
  metrics_listen: setting(
    listenOrOff("127.0.0.1").prefault("127.0.0.1:7446"),
    'Where the router\'s own metrics are read; "" for nowhere.',
  ),
  drain: setting(duration().prefault("30s"), "How long requests in flight get to end when the router is told to stop."),
});
