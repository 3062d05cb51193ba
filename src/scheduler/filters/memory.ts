import { formatBytes } from "../../core/format.ts";
import { bookingFor } from "../fit.ts";
import { hostMemory } from "../node-view.ts";
import type { Filter } from "../rules.ts";

export const memory: Filter = {
  name: "memory",
  doc: "Enough host memory is neither booked nor in use by other programs.",
  check(view, ask) {
    const booking = bookingFor(view, ask);
    if (booking === undefined) return undefined;
    const need = hostMemory(booking, view.node.inventory.gpus);
    if (need <= view.memoryFree) return undefined;
    const { memoryTotal, memoryAvailable } = view.node.inventory;
    return (
      `insufficient memory: needs ${formatBytes(need)}, can give ${formatBytes(view.memoryFree)} of ` +
      `${formatBytes(memoryTotal)} (${formatBytes(memoryTotal - memoryAvailable)} in use, ${formatBytes(view.memoryBooked)} booked)`
    );
  },
};
