/** The events of a message, the oldest first: when, what, for whom, and what was said. */
import { useState, type ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { cx } from '#dashboard/src/ui/class-names.ts'
import { EmailAddress } from '#dashboard/src/ui/email-address.tsx'
import { DateTime } from '#dashboard/src/ui/times.tsx'
import { SOLID } from '#dashboard/src/ui/tone.ts'
import { describeEvent, EVENT_TONES, isKnownEvent } from './event-description.ts'
import type { Message } from './message-page.tsx'

const MAX_SHOWN = 50

export function MessageTimeline({ message }: { readonly message: Message }): ReactNode {
  const { messages } = useTexts()
  const [showsAll, setShowsAll] = useState(false)
  const { events } = message
  if (events.length === 0) return <p className="text-muted">{messages.noEvents}</p>
  const hidden = showsAll ? 0 : Math.max(0, events.length - MAX_SHOWN)
  const isForOne = message.recipients.length === 1
  return (
    <>
      {hidden > 0 && (
        <Button size="sm" variant="ghost" onClick={() => setShowsAll(true)}>
          {messages.showEarlier(hidden)}
        </Button>
      )}
      <ol className="flex flex-col">
        {events.slice(hidden).map((event, index, shown) => (
          <Event key={event.id} event={event} isLast={index === shown.length - 1} isForOne={isForOne} />
        ))}
      </ol>
    </>
  )
}

interface EventProps {
  readonly event: Message['events'][number]
  readonly isLast: boolean
  /** The message has one recipient, who needs no mention. */
  readonly isForOne: boolean
}

function Event({ event, isLast, isForOne }: EventProps): ReactNode {
  const { messages } = useTexts()
  const { type, recipient, timestamp, data } = event
  const tone = isKnownEvent(type) ? EVENT_TONES[type] : 'neutral'
  const details = describeEvent(data)
  return (
    <li className="relative flex min-w-0 gap-3 pb-4 last:pb-0">
      {!isLast && <span aria-hidden="true" className="absolute top-4 bottom-0 left-1 w-px bg-line-strong" />}
      <span aria-hidden="true" className={cx('mt-1.5 size-[9px] shrink-0 rounded-full', SOLID[tone])} />
      <div className="min-w-0 grow">
        <div className="flex min-w-0 flex-wrap items-baseline gap-x-3">
          <span className="font-medium text-ink">{isKnownEvent(type) ? messages.events[type] : type}</span>
          {!isForOne && (
            <span className="min-w-0 text-sm text-muted">
              <EmailAddress address={recipient} />
            </span>
          )}
          <span className="text-sm text-muted sm:ml-auto">
            <DateTime value={timestamp} precision="second" />
          </span>
        </div>
        {details !== null && <p className="mt-0.5 text-sm break-words text-muted">{details}</p>}
      </div>
    </li>
  )
}
