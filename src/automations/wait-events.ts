/**
 * Events that a contact had on its way to the next step, kept with its enrolment until that step is taken: it may be the one that waits for
 * one of them. An event ends one wait, and only then do its properties become those of the enrolment.
 */
export type Properties = Readonly<Record<string, unknown>>

export interface Heard {
  readonly name: string
  readonly properties: Properties | null
}

/** Of one enrolment; what comes beyond is only kept when it is waited for. */
export const MOST_HEARD = 20
/** Characters as JSON that the properties of several events may have together: every enrolment carries its own. */
const MOST_TOGETHER = 20_000

/** Those of the newer event in place of earlier ones of the same name; alone where both would be too much. */
export function mergeProperties(earlier: Properties | null, newer: Properties | null): Properties | null {
  if (earlier === null || newer === null) return newer ?? earlier
  const both = { ...earlier, ...newer }
  return JSON.stringify(both).length <= MOST_TOGETHER ? both : newer
}
