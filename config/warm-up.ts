/**
 * How a new source comes to be known by receivers: step by step, each day one, for each receiver apart. The amounts are a setting
 * (WARM_UP); this is what makes a step go up, stay or go down.
 */
export interface WarmUpRules {
  /** Fewer answers of a receiver than this say nothing about how it takes the source. */
  readonly leastSample: number
  /** This share of the day's amount must have gone out, or a larger one has no proof. */
  readonly usedShare: number
  /** Shares from which the step stays, and from which it goes down. Large receivers ask for 0.1 % of complaints, and act on 0.3 %. */
  readonly hold: Shares
  readonly back: Shares
  /** One complaint in a small number is chance. */
  readonly leastComplaints: number
  /** Receivers forget: for each such time without mail it is one step less. */
  readonly forgetDays: number
}

interface Shares {
  /** Of answers that put off or refused a mail for the source's sake. */
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
