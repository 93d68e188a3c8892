/** Why a message of any workspace is where it is. What receivers said is shown as text, whatever it contains. */
import type { ReactNode } from 'react'
import { adminExplainEmail, type EmailExplanation } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { GateList, type ExplainedRecipient } from '#dashboard/src/shared/gate-list.tsx'
import { MessageStatusBadge } from '#dashboard/src/shared/message-status.tsx'
import { operatorPath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { useServerText } from '#dashboard/src/texts/use-server-text.ts'
import { ButtonLink } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { Sheet } from '#dashboard/src/ui/sheet.tsx'
import { DateTime, RelativeTime } from '#dashboard/src/ui/times.tsx'
import { Loaded } from './loaded.tsx'
import { QUEUE_VERBS } from './queue-action-dialog.tsx'

type Explained = EmailExplanation['data']
const MAX_SHOWN = 20

interface ExplanationSheetProps {
  readonly id: string | null
  readonly onClose: () => void
}

export function ExplanationSheet({ id, onClose }: ExplanationSheetProps): ReactNode {
  const { operator } = useTexts()
  const { queue: texts } = operator
  const query = useApi(adminExplainEmail, { params: { id: id ?? '' } }, { isEnabled: id !== null })
  return (
    <Sheet
      isOpen={id !== null}
      onOpenChange={(open) => !open && onClose()}
      title={texts.why}
      footer={QUEUE_VERBS.map((verb) => (
        <ButtonLink
          key={verb}
          href={operatorPath('/queue', { message: id, action: verb })}
          variant={verb === 'retry' ? 'primary' : 'secondary'}
        >
          {texts[verb]}
        </ButtonLink>
      ))}
    >
      <Loaded query={query}>{({ data }) => <Explanation explained={data} />}</Loaded>
    </Sheet>
  )
}

function Explanation({ explained }: { readonly explained: Explained }): ReactNode {
  const { operator, messages } = useTexts()
  const say = useServerText()
  const { queue: texts } = operator
  return (
    <div className="flex min-w-0 flex-col gap-5">
      <Callout
        tone={explained.status === 'deferred' ? 'warning' : 'info'}
        title={explained.held_by === null ? undefined : messages.heldBy[explained.held_by]}
      >
        <p className="break-words">{say(explained.says, explained.translation)}</p>
        {explained.until !== null && (
          <p className="mt-1 font-medium">
            {operator.until} <DateTime value={explained.until} precision="second" /> (
            <RelativeTime value={explained.until} />)
          </p>
        )}
      </Callout>
      <KeyValueList
        items={[
          { label: texts.message, value: <code className="text-sm break-all">{explained.email_id}</code> },
          { label: operator.state, value: <MessageStatusBadge status={explained.status} /> },
          { label: operator.tier, value: explained.tier },
        ]}
      />
      {explained.recipients.slice(0, MAX_SHOWN).map((recipient) => (
        <RecipientGates key={recipient.address} recipient={recipient} />
      ))}
    </div>
  )
}

function RecipientGates({ recipient }: { readonly recipient: ExplainedRecipient }): ReactNode {
  const { operator } = useTexts()
  const { queue: texts } = operator
  return (
    <section className="flex min-w-0 flex-col gap-2 border-t border-line pt-4">
      <div className="flex flex-wrap items-center gap-2">
        <h3 className="min-w-0 font-medium break-all">{recipient.address}</h3>
        <MessageStatusBadge status={recipient.state} />
      </div>
      <p className="text-sm text-muted">
        {texts.tries}: {recipient.tries}
        {recipient.next_try_at !== null && (
          <>
            {' '}
            · {texts.nextTry} <RelativeTime value={recipient.next_try_at} />
          </>
        )}
      </p>
      <GateList gates={recipient.gates} />
    </section>
  )
}
