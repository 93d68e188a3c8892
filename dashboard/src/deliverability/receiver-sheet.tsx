import type { ReactNode } from 'react'
import type { ReceiverDesk } from '#dashboard/src/api/endpoints.ts'
import { bouncesOf } from '#dashboard/src/shared/receiver-traffic.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { Sheet } from '#dashboard/src/ui/sheet.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'

interface ReceiverSheetProps {
  readonly receiver: ReceiverDesk
  readonly onClose: () => void
}

/** One receiver: its mail of a day, what holds mail now, and its replies to what was deferred or bounced. */
export function ReceiverSheet({ receiver, onClose }: ReceiverSheetProps): ReactNode {
  const { people, operator } = useTexts()
  const texts = people.deliverability
  const { day, reasons, throttles } = receiver
  const figures: readonly (readonly [string, number])[] = [
    [operator.receivers.sent, day.sent],
    [operator.receivers.delivered, day.delivered],
    [operator.receivers.deferred, day.deferred],
    [operator.receivers.bounced, bouncesOf(day)],
    [operator.receivers.complained, day.complained],
  ]
  return (
    <Sheet isOpen onOpenChange={onClose} title={receiver.title}>
      <div className="flex flex-col gap-5">
        {throttles.map(({ state, reply, since }) => (
          <Callout key={since} tone={state === 'suspended' ? 'danger' : 'warning'} title={texts.states[state]}>
            {reply ?? ''}
          </Callout>
        ))}
        <KeyValueList
          items={figures.map(([label, value]) => ({ label, value: <NumberText value={value} isExact /> }))}
        />
        <section className="flex flex-col gap-3">
          <h3 className="font-medium">{texts.reasons}</h3>
          {reasons.length === 0 && <p className="text-muted">{texts.noReasons}</p>}
          {reasons.map((reason) => (
            <div key={reason.class} className="flex flex-col gap-1 border-t border-line pt-3">
              <p className="flex flex-wrap justify-between gap-2">
                <code className="font-mono text-sm">{reason.class}</code>
                <span className="text-sm text-muted">{texts.counts(reason.deferred, reason.bounced)}</span>
              </p>
              {reason.reply !== null && (
                <code className="font-mono text-xs break-words text-muted">{reason.reply}</code>
              )}
              {reason.since !== null && (
                <p className="text-sm text-muted">
                  <RelativeTime value={reason.since} />
                </p>
              )}
            </div>
          ))}
        </section>
      </div>
    </Sheet>
  )
}
