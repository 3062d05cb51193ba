import { openSqliteStore } from "../../src/store/sqlite.ts";
import { usageSuite } from "./usage-suite.ts";

usageSuite("SQLite in memory", () => openSqliteStore({ path: ":memory:", newServerId: "s" }));
