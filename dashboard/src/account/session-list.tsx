import type { ReactNode } from 'react'
import { endOtherSessions, endSession, listSessions, type Session } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { Card } from '#dashboard/src/ui/card.tsx'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'

/** Where the person is signed in. Ending a session takes effect at its next request. */
export function SessionList(): ReactNode {
  const { people } = useTexts()
  const texts = people.account
  const toast = useToast()
  const sessions = useApi(listSessions, {})
  const ended = { invalidates: ['/auth/sessions'], onSuccess: () => toast({ title: texts.sessionEnded }) }
  const endOne = useAction(endSession, ended)
  const endOthers = useAction(endOtherSessions, ended)
  const rows = sessions.data?.data.sessions ?? null
  const columns: readonly DataColumn<Session>[] = [
    {
      id: 'device',
      header: texts.device,
      cell: ({ user_agent: agent, is_current: isCurrent }) => (
        <span className="flex items-center gap-2">
          <span className="truncate" title={agent}>
            {nameOfBrowser(agent)}
          </span>
          {isCurrent && <Badge tone="accent">{texts.thisSession}</Badge>}
        </span>
      ),
    },
    { id: 'address', header: texts.address, width: '10rem', priority: 2, cell: ({ ip_address: ip }) => ip },
    {
      id: 'used',
      header: texts.lastUsed,
      width: '10rem',
      priority: 2,
      cell: ({ last_used_at: at }) => <RelativeTime value={at} />,
    },
    {
      id: 'end',
      header: texts.endSession,
      isHeaderHidden: true,
      width: '6rem',
      align: 'right',
      cell: ({ id, is_current: isCurrent }) =>
        !isCurrent && (
          <Button size="sm" onClick={() => endOne.mutate({ params: { id } })}>
            {texts.endSession}
          </Button>
        ),
    },
  ]
  return (
    <Section
      title={texts.sessions}
      description={texts.sessionsText}
      actions={
        rows !== null &&
        rows.length > 1 && (
          <Button isLoading={endOthers.isPending} onClick={() => endOthers.mutate({})}>
            {texts.endOthers}
          </Button>
        )
      }
    >
      <Card padding="none">
        <DataTable
          label={texts.sessions}
          columns={columns}
          rows={rows}
          getRowId={({ id }) => id}
          error={sessions.error === null ? null : <FailedQuery query={sessions} title={texts.failed} />}
        />
      </Card>
    </Section>
  )
}

const BROWSERS = [
  ['Edg', 'Edge'],
  ['OPR', 'Opera'],
  ['Firefox', 'Firefox'],
  ['Chrome', 'Chrome'],
  ['Safari', 'Safari'],
] as const
const SYSTEMS = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
] as const

/** `Firefox, Linux`; the text of a program that is no browser. */
function nameOfBrowser(agent: string): string {
  const find = (names: readonly (readonly [string, string])[]): string | undefined =>
    names.find(([part]) => agent.includes(part))?.[1]
  const names = [find(BROWSERS), find(SYSTEMS)].filter((name) => name !== undefined)
  return names.length === 0 ? agent : names.join(', ')
}
