/**
 * Warm-up of a new source: for each receiver separately, the daily amount rises step by step. The amounts are the
 * setting WARM_UP; these rules decide whether the step rises, stays or falls after a day.
 */
export interface WarmUpRules {
  /** With fewer messages sent to a receiver than this, the step stays, unless complaints lower it. */
  readonly leastSample: number
  /** The step rises only if at least this share of the day's amount was sent. */
  readonly usedShare: number
  /** From these shares on the step stays. Large receivers ask for 0.1 % of complaints, and act on 0.3 %. */
  readonly hold: Shares
  /** From these shares on the step falls. */
  readonly back: Shares
  /** With fewer complaints than this, the complaint share is ignored. */
  readonly leastComplaints: number
  /** Receivers forget: the step falls by one for each such period without mail. */
  readonly forgetDays: number
}

interface Shares {
  /** Of replies that deferred or refused a message because of the source. */
  readonly throttled: number
  readonly complaints: number
}

export const WARM_UP_RULES: WarmUpRules = {
  leastSample: 20,
  usedShare: 0.5,
  hold: { throttled: 0.05, complaints: 0.001 },
  back: { throttled: 0.2, complaints: 0.003 },
  leastComplaints: 2,
  forgetDays: 7,
}
