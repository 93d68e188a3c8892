/** Why a message waits: the gate that holds it, until when, and every other gate that was evaluated. Live. */
import { CircleCheck, CirclePause, ChevronRight } from 'lucide-react'
import type { ReactNode } from 'react'
import { explainEmailByPath, type EmailExplanation } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { isWaiting } from '#dashboard/src/shared/message-status.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'
import { DateTime, RelativeTime } from '#dashboard/src/ui/times.tsx'
import type { Message } from './message-page.tsx'

type ExplainedRecipient = EmailExplanation['data']['recipients'][number]
const MAX_SHOWN = 20

export function MessageExplanation({ message }: { readonly message: Message }): ReactNode {
  const { messages } = useTexts()
  const answer = useApi(explainEmailByPath, { params: { id: message.email_id } })
  if (answer.error !== null) return <Callout tone="warning">{messages.notExplained}</Callout>
  if (answer.data === undefined) return <SkeletonLines lines={3} />
  const { held_by: gate, says, until, recipients } = answer.data.data
  const waiting = recipients.filter(({ state }) => isWaiting(state))
  return (
    <Callout
      tone={message.status === 'deferred' || message.status === 'unknown' ? 'warning' : 'info'}
      title={gate === null ? messages.notHeld : messages.heldBy[gate]}
    >
      <p className="break-words">{says}</p>
      {until !== null && (
        <p className="mt-1 font-medium">
          {messages.until} <RelativeTime value={until} /> (<DateTime value={until} precision="second" />)
        </p>
      )}
      <ul className="mt-2 flex flex-col gap-1">
        {waiting.slice(0, MAX_SHOWN).map((recipient) => (
          <Gates key={recipient.address} recipient={recipient} />
        ))}
      </ul>
    </Callout>
  )
}

function Gates({ recipient }: { readonly recipient: ExplainedRecipient }): ReactNode {
  const { messages } = useTexts()
  return (
    <li>
      <details className="group min-w-0">
        <summary className="flex cursor-pointer list-none items-center gap-1.5 rounded-xs py-0.5 text-sm text-muted hover:text-ink">
          <ChevronRight size={14} aria-hidden="true" className="shrink-0 group-open:rotate-90" />
          <span className="min-w-0 truncate">{messages.gatesOf(recipient.address)}</span>
        </summary>
        <ol className="mt-1 ml-5 flex flex-col gap-1.5 text-sm">
          {recipient.gates.map(({ gate, holds, says, rule, until }) => (
            <li key={gate} className="flex min-w-0 items-start gap-2">
              {holds ? (
                <CirclePause size={14} aria-hidden="true" className="mt-0.5 shrink-0 text-warning" />
              ) : (
                <CircleCheck size={14} aria-hidden="true" className="mt-0.5 shrink-0 text-success" />
              )}
              <span className="min-w-0 break-words">
                <span className="font-medium text-ink">{messages.gates[gate]}</span>
                <span className="sr-only"> ({holds ? messages.holds : messages.passes})</span>
                <span className="text-muted">: {says}</span>
                {rule !== null && <span className="block text-xs text-muted">{rule}</span>}
                {until !== null && (
                  <span className="block text-xs text-muted">
                    {messages.until} <DateTime value={until} precision="second" />
                  </span>
                )}
              </span>
            </li>
          ))}
        </ol>
      </details>
    </li>
  )
}
