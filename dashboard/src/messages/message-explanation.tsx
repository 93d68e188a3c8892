/** Why a message waits: the gate that holds it, until when, and every other gate that was evaluated. Live. */
import { ChevronRight } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { explainEmailByPath } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { GateList, type ExplainedRecipient } from '#dashboard/src/shared/gate-list.tsx'
import { isWaiting } from '#dashboard/src/shared/message-status.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { useServerText } from '#dashboard/src/texts/use-server-text.ts'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'
import { DateTime, RelativeTime } from '#dashboard/src/ui/times.tsx'
import type { Message } from './message-page.tsx'

const MAX_SHOWN = 20

export function MessageExplanation({ message }: { readonly message: Message }): ReactNode {
  const { messages } = useTexts()
  const say = useServerText()
  const answer = useApi(explainEmailByPath, { params: { id: message.email_id } })
  if (answer.error !== null) return <Callout tone="warning">{messages.notExplained}</Callout>
  if (answer.data === undefined) return <SkeletonLines lines={3} />
  const { held_by: gate, says, translation, until, recipients } = answer.data.data
  const waiting = recipients.filter(({ state }) => isWaiting(state))
  return (
    <Callout
      tone={message.status === 'deferred' || message.status === 'unknown' ? 'warning' : 'info'}
      title={gate === null ? messages.notHeld : messages.heldBy[gate]}
    >
      <p className="break-words">{say(says, translation)}</p>
      {until !== null && (
        <p className="mt-1 font-medium">
          {messages.until} <DateTime value={until} precision="second" /> (<RelativeTime value={until} />)
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
        <GateList gates={recipient.gates} className="mt-1 ml-5" />
      </details>
    </li>
  )
}
