/** The gates of a recipient: what was evaluated before its mail may go, and which of them holds it. */
import { CircleCheck, CirclePause } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import type { EmailExplanation } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { useSentences, useServerText } from '#dashboard/src/texts/use-server-text.ts'
import { cx } from '#dashboard/src/ui/class-names.ts'
import { DateTime } from '#dashboard/src/ui/times.tsx'

export type ExplainedRecipient = EmailExplanation['data']['recipients'][number]

interface GateListProps {
  readonly gates: ExplainedRecipient['gates']
  readonly className?: string
}

export function GateList({ gates, className }: GateListProps): ReactNode {
  const { messages } = useTexts()
  const say = useServerText()
  const sayAll = useSentences()
  return (
    <ol className={cx('flex flex-col gap-1.5 text-sm', className)}>
      {gates.map(({ gate, holds, says, translation, rule, rule_translations: ofRule, until }) => (
        <li key={gate} className="flex min-w-0 items-start gap-2">
          {holds ? (
            <CirclePause size={14} aria-hidden="true" className="mt-0.5 shrink-0 text-warning" />
          ) : (
            <CircleCheck size={14} aria-hidden="true" className="mt-0.5 shrink-0 text-success" />
          )}
          <span className="min-w-0 break-words">
            <span className="font-medium text-ink">{messages.gates[gate]}</span>
            <span className="sr-only"> ({holds ? messages.holds : messages.passes})</span>
            <span className="text-muted">: {say(says, translation)}</span>
            {rule !== null && <span className="block text-xs text-muted">{sayAll(rule, ofRule)}</span>}
            {until !== null && (
              <span className="block text-xs text-muted">
                {messages.until} <DateTime value={until} precision="second" />
              </span>
            )}
          </span>
        </li>
      ))}
    </ol>
  )
}
