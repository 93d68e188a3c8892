/** The audiences and segments of the workspace, as choices of a field or a filter. */
import { getAudiences, listSegments, type Audience, type Segment } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'

const MOST = 100

export interface Choice {
  readonly value: string
  readonly label: string
}

/** By name; the first hundred. */
export function useAudienceChoices(): readonly Choice[] {
  const { data } = useApi(getAudiences, { query: { limit: MOST, sortBy: 'name', sortDir: 'asc' } })
  return (data?.data.audiences ?? []).map(({ id, name }: Audience) => ({ value: id, label: name }))
}

/** The newest hundred, by name. */
export function useSegmentChoices(): readonly Choice[] {
  const { data } = useApi(listSegments, { query: { limit: MOST } })
  return (data?.data.segments ?? [])
    .map(({ id, name }: Segment) => ({ value: id, label: name }))
    .toSorted((a, b) => a.label.localeCompare(b.label))
}
