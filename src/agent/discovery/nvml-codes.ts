/** Codes of nvmlReturn_t with the driver's own names, so that they can be looked up, and what to do where somebody can do something. */
const CODES: Readonly<Record<number, readonly [name: string, meaning: string, advice?: string]>> = {
  1: ["UNINITIALIZED", "the library was not initialised"],
  2: ["INVALID_ARGUMENT", "an argument is invalid"],
  3: ["NOT_SUPPORTED", "not supported"],
  4: ["NO_PERMISSION", "no permission", "Run the agent as a user that may open /dev/nvidia*"],
  6: ["NOT_FOUND", "not found"],
  8: ["INSUFFICIENT_POWER", "a power cable is not connected", "Connect the card's power cables"],
  9: ["DRIVER_NOT_LOADED", "the driver is not loaded", "Load it with modprobe nvidia"],
  10: ["TIMEOUT", "the driver did not answer in time"],
  11: ["IRQ_ISSUE", "the card's interrupts do not arrive"],
  12: ["LIBRARY_NOT_FOUND", "a library of the driver is missing", "Install the driver's libraries again"],
  13: ["FUNCTION_NOT_FOUND", "this driver is too old to know the call"],
  14: ["CORRUPTED_INFOROM", "the card's infoROM is corrupted"],
  15: ["GPU_IS_LOST", "the GPU is lost: it has fallen off the bus", "Start the machine again"],
  16: ["RESET_REQUIRED", "the GPU needs a reset", "Run nvidia-smi --gpu-reset, or start the machine again"],
  17: ["OPERATING_SYSTEM", "the operating system does not let it be used, as a container's device rules do"],
  18: [
    "LIB_RM_VERSION_MISMATCH",
    "driver and library have different versions",
    "Reload the driver or start the machine again",
  ],
  20: ["MEMORY", "no memory for the call"],
  28: ["GPU_NOT_FOUND", "there is no such GPU"],
  999: ["UNKNOWN", "an error of unknown kind"],
};

/** What a code means, with its name and advice, such as "… (NVML_ERROR_GPU_IS_LOST). Start the machine again". */
export function nvmlSays(code: number): string {
  const [name, meaning, advice] = CODES[code] ?? [String(code), "an error that is not known here"];
  const sentence = `${meaning} (NVML_ERROR_${name})`;
  return advice === undefined ? sentence : `${sentence}. ${advice}`;
}

/** The kind of fault that a code is, as the first word of a node's problem. */
export const faultOf = (code: number): "permission" | "driver" => (code === 4 || code === 17 ? "permission" : "driver");

export const NVML = { notSupported: 3, driverNotLoaded: 9, lost: 15, resetRequired: 16 } as const;
