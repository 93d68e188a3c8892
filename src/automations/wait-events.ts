/**
 * Events that a contact received before its next step. They are stored with the enrolment until that step runs, because
 * it may wait for one of them. An event ends one wait, and only then are its properties merged into the enrolment.
 */
export type EventProperties = Readonly<Record<string, unknown>>

export interface ReceivedEvent {
  readonly name: string
  readonly properties: EventProperties | null
}

/** Maximum events stored per enrolment; further ones are stored only if a step waits for them. */
export const MAX_RECEIVED_EVENTS = 20
/** Maximum characters (as JSON) of merged event properties, because every enrolment stores its own copy. */
const MAX_MERGED_CHARS = 20_000

/**
 * Merges event properties; newer values replace older ones of the same name. Returns only the newer properties if the
 * result would be too large.
 */
export function mergeProperties(
  earlier: EventProperties | null,
  newer: EventProperties | null,
): EventProperties | null {
  if (earlier === null || newer === null) return newer ?? earlier
  const both = { ...earlier, ...newer }
  return JSON.stringify(both).length <= MAX_MERGED_CHARS ? both : newer
}
