import type { Scorer } from "../rules.ts";

export const spread: Scorer = {
  name: "spread",
  doc: "A node without a replica of the profile before one that would take down two; those that are on their way out do not count.",
  weight: 4,
  score: ({ bookings }, { profile }) =>
    1 / (1 + bookings.filter((booking) => booking.profile === profile && !booking.leaving).length),
};
