/** The mail that waits now, by tier: how much, and since when the oldest is due. Live. */
import type { ReactNode } from 'react'
import { countOpenMail } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { StatTile } from '#dashboard/src/ui/stat-tile.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'

const TIERS = ['instant', 'high', 'normal', 'bulk'] as const

export function QueueDepth(): ReactNode {
  const { overview } = useTexts()
  const path = useWorkspacePath()
  const query = useApi(countOpenMail, { query: { by: 'tier' } })
  const counts = query.data?.data.counts
  return (
    <Section title={overview.queue} description={overview.queueText}>
      {query.error !== null && <FailedQuery query={query} title={overview.queueNotLoaded} />}
      {query.error === null && (
        <div className="grid grid-cols-2 gap-3 lg:grid-cols-4">
          {TIERS.map((tier) => {
            const found = counts?.find(({ name }) => name === tier)
            return (
              <StatTile
                key={tier}
                label={overview.tiers[tier]}
                value={counts === undefined ? null : <NumberText value={found?.count ?? 0} />}
                hint={
                  found === undefined ? (
                    overview.nothingWaits
                  ) : (
                    <>
                      {overview.oldestDue} <RelativeTime value={found.oldest_due_at} />
                    </>
                  )
                }
                href={path('/messages', { tier, status: 'queued' })}
              />
            )
          })}
        </div>
      )}
    </Section>
  )
}
