/** Who is left out of a campaign, as the filter of a segment: the chosen segment, but none of these contacts. */
export interface Exclusions {
  readonly tags: readonly string[]
  /** Members of this audience; null: nobody for that. */
  readonly audienceId: string | null
  /** Contacts that got mail within so many days; null: nobody for that. */
  readonly mailedWithinDays: number | null
}

type Filter = Readonly<Record<string, unknown>>

/** Null without a rule. */
export function exclusionFilter(base: Filter | null, exclusions: Exclusions): Filter | null {
  const { tags, audienceId, mailedWithinDays: days } = exclusions
  const rules: readonly Filter[] = [
    ...tags.map((tag) => ({ tag, has: true })),
    ...(audienceId === null ? [] : [{ status: 'member', audienceId }]),
    ...(days === null ? [] : [{ activity: 'mailed', withinDays: days }]),
  ]
  if (rules.length === 0) return null
  return { all: [...(base === null ? [] : [base]), { not: { any: rules } }] }
}
