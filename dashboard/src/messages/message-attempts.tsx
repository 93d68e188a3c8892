/** Each attempt to deliver a message: its result, the way it took, TLS, and the SMTP dialog line by line. */
import { ChevronRight } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { getEmailAttempts, type EmailAttempt } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import { CodeBlock } from '#dashboard/src/ui/code-block.tsx'
import { EmailAddress } from '#dashboard/src/ui/email-address.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'
import { DateTime, Duration } from '#dashboard/src/ui/times.tsx'
import type { Tone } from '#dashboard/src/ui/tone.ts'
import type { Message } from './message-page.tsx'

const EVERYONE = '*'
const TONES: Readonly<Record<string, Tone>> = { delivered: 'success', deferred: 'warning', bounced: 'danger' }

function outcomeTone(outcome: string): Tone {
  return TONES[outcome] ?? 'danger'
}

export function MessageAttempts({ message }: { readonly message: Message }): ReactNode {
  const { messages } = useTexts()
  const [search, change] = useAddressSearch()
  const attempts = useApi(getEmailAttempts, { params: { id: message.email_id } })
  if (attempts.error !== null) return <FailedQuery query={attempts} title={messages.attemptsNotLoaded} />
  if (attempts.data === undefined) return <SkeletonLines lines={10} />
  const all = attempts.data.data.attempts
  const chosen = search['recipient'] ?? EVERYONE
  // the newest first: it decides what happens next
  const shown = all
    .filter(({ recipient }) => chosen === EVERYONE || recipient === chosen)
    .toSorted((a, b) => b.at.localeCompare(a.at))
  if (all.length === 0) return <EmptyState title={messages.noAttempts} text={messages.noAttemptsText} />
  const recipients = [...new Set(all.map(({ recipient }) => recipient))]
  return (
    <div className="flex min-w-0 flex-col gap-4">
      {recipients.length > 1 && (
        <Select
          className="max-w-sm"
          label={messages.recipient}
          value={chosen}
          onChange={(value) => change({ recipient: value === EVERYONE ? undefined : value })}
          options={[
            { value: EVERYONE, label: messages.allRecipients },
            ...recipients.map((address) => ({ value: address, label: address })),
          ]}
        />
      )}
      {shown.map((attempt, index) => (
        <Attempt key={`${attempt.recipient} ${attempt.attempt}`} attempt={attempt} isOpen={index < 2} />
      ))}
    </div>
  )
}

function Attempt({ attempt, isOpen }: { readonly attempt: EmailAttempt; readonly isOpen: boolean }): ReactNode {
  const { messages } = useTexts()
  return (
    <details open={isOpen} className="group min-w-0 rounded-lg border border-line bg-surface">
      <summary className="flex cursor-pointer list-none flex-wrap items-center gap-x-4 gap-y-1 rounded-lg px-4 py-3 hover:bg-hover">
        <ChevronRight size={14} aria-hidden="true" className="shrink-0 text-faint group-open:rotate-90" />
        <StatusBadge tone={outcomeTone(attempt.outcome)}>{messages.outcomes(attempt.outcome)}</StatusBadge>
        <span className="min-w-0 font-medium">
          <EmailAddress address={attempt.recipient} />
        </span>
        <span className="text-sm text-muted">{messages.attempt(attempt.attempt)}</span>
        <span className="ml-auto text-sm text-muted">
          <DateTime value={attempt.at} precision="second" />
        </span>
      </summary>
      <div className="flex min-w-0 flex-col gap-4 border-t border-line p-4">
        <AttemptFacts attempt={attempt} />
        <Dialog dialog={attempt.dialog} />
      </div>
    </details>
  )
}

function AttemptFacts({ attempt }: { readonly attempt: EmailAttempt }): ReactNode {
  const { messages } = useTexts()
  const { reason, route, duration_ms: ms } = attempt
  const server = [route.host, route.address === null ? null : `[${route.address}]`].filter((one) => one !== null)
  return (
    <KeyValueList
      items={[
        ...(reason === null
          ? []
          : [{ label: messages.reason, value: <span className="font-mono text-sm">{reason}</span> }]),
        { label: messages.server, value: server.length === 0 ? messages.noServer : server.join(' ') },
        { label: messages.leftFrom, value: route.source ?? messages.anySource },
        { label: messages.tls, value: route.tls ?? messages.noTls },
        { label: messages.took, value: <Duration seconds={ms / 1000} /> },
      ]}
    />
  )
}

const SIDES = { client: 'C', server: 'S', note: '–' } as const

function Dialog({ dialog }: { readonly dialog: EmailAttempt['dialog'] }): ReactNode {
  const { messages } = useTexts()
  if (dialog.length === 0) return <p className="text-sm text-muted">{messages.noDialog}</p>
  return (
    <CodeBlock
      title={messages.dialog}
      text={dialog.map(({ by, text }) => `${SIDES[by]}: ${text}`).join('\n')}
      heightClass="max-h-[60dvh]"
      renderLine={(_, index) => {
        const line = dialog[index]
        if (line === undefined) return null
        return (
          <span className={lineClass(line)}>
            <span aria-hidden="true" className="mr-2 inline-block w-3 text-faint select-none">
              {SIDES[line.by]}
            </span>
            <span className="sr-only">{messages.sides[line.by]}: </span>
            {line.text}
          </span>
        )
      }}
    />
  )
}

/** What the server refuses stands out; remarks step back. */
function lineClass({ by, text }: EmailAttempt['dialog'][number]): string {
  if (by === 'note') return 'text-info-text'
  if (by === 'client') return 'text-accent-text'
  return /^[45]\d\d/.test(text) ? 'font-medium text-danger-text' : 'text-ink'
}
