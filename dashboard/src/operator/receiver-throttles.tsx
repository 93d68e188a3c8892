import type { ReactNode } from 'react'
import type { OperatorReceiverDesk } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { Meter } from '#dashboard/src/ui/meter.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { useResume } from './suspensions.tsx'

type Throttle = OperatorReceiverDesk['throttles'][number]

interface ReceiverProps {
  readonly receiver: OperatorReceiverDesk
}

/** What holds the mail of a receiver now: suspensions, learned limits, and the warm-up of sources. */
export function ReceiverThrottles({ receiver }: ReceiverProps): ReactNode {
  const { operator } = useTexts()
  const { receivers: texts } = operator
  const [resume, dialog] = useResume()
  return (
    <Card padding="none">
      {receiver.throttles.length === 0 && <p className="px-4 py-3 text-muted">{texts.free}</p>}
      <ul className="divide-y divide-line">
        {receiver.throttles.map((throttle) => (
          <li key={`${throttle.source} ${throttle.since}`} className="flex flex-wrap items-start gap-3 px-4 py-3">
            <ThrottleFacts throttle={throttle} />
            {throttle.state === 'suspended' && (
              <Button size="sm" onClick={() => resume(receiver.title, { receiver: receiver.name })}>
                {operator.queue.resume}
              </Button>
            )}
          </li>
        ))}
        {receiver.warm_ups.map(({ source, day, taken, allowance }) => (
          <li key={source} className="px-4 py-3">
            <p className="mb-2 text-sm text-muted">
              {texts.warmUp}: {source}, {texts.warmUpDay(day)}
            </p>
            <Meter
              value={taken}
              max={allowance}
              label={source}
              text={texts.ofAllowance(String(taken), String(allowance))}
            />
          </li>
        ))}
      </ul>
      {dialog}
    </Card>
  )
}

function ThrottleFacts({ throttle }: { readonly throttle: Throttle }): ReactNode {
  const { operator } = useTexts()
  const { receivers: texts } = operator
  const isSuspended = throttle.state === 'suspended'
  return (
    <div className="flex min-w-0 flex-1 basis-72 flex-col gap-1">
      <p className="flex flex-wrap items-center gap-x-3">
        <StatusBadge tone={isSuspended ? 'danger' : 'warning'}>{texts[throttle.state]}</StatusBadge>
        {throttle.connections !== null && <span>{texts.connections(throttle.connections)}</span>}
        <span className="text-muted">{throttle.source ?? texts.allSources}</span>
      </p>
      <p className="text-sm text-muted">
        {operator.since} <RelativeTime value={throttle.since} />
        {' · '}
        {throttle.until === null ? (
          texts.growsAgain
        ) : (
          <>
            {texts.triedAgain} <RelativeTime value={throttle.until} />
          </>
        )}
      </p>
      {throttle.rule !== null && (
        <p className="text-sm">
          {texts.rule}: <code className="font-mono">{throttle.rule}</code>
        </p>
      )}
      {throttle.reply !== null && <code className="font-mono text-xs break-words">{throttle.reply}</code>}
    </div>
  )
}
