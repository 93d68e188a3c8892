/** Why an address is suppressed: the bounce or complaint, with the reply of the receiver. */
import { useState, type ReactNode } from 'react'
import { getSuppression, type Suppression } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { CodeBlock } from '#dashboard/src/ui/code-block.tsx'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { LinkText } from '#dashboard/src/ui/link-text.tsx'
import { Sheet } from '#dashboard/src/ui/sheet.tsx'
import { SkeletonLines } from '#dashboard/src/ui/skeleton.tsx'
import { DateTime } from '#dashboard/src/ui/times.tsx'
import { RemoveSuppressionsDialog } from './remove-suppressions-dialog.tsx'
import { KIND_TONES } from './suppression-kinds.ts'

export function SuppressionSheet({
  email,
  onClose,
}: {
  readonly email: string
  readonly onClose: () => void
}): ReactNode {
  const { suppressions: texts } = useTexts()
  const canWrite = useCan()('suppressions:write')
  const [isRemoving, setRemoving] = useState(false)
  const query = useApi(getSuppression, { params: { email } })
  const found = query.data?.data
  return (
    <Sheet
      isOpen
      onOpenChange={onClose}
      title={email}
      footer={
        canWrite && found !== undefined ? (
          <Button variant="danger" onClick={() => setRemoving(true)}>
            {texts.remove}
          </Button>
        ) : undefined
      }
    >
      {query.isError && <FailedQuery query={query} title={texts.entryNotLoaded} />}
      {query.isPending && <SkeletonLines lines={5} />}
      {found !== undefined && <SuppressionDetails found={found} />}
      {isRemoving && found !== undefined && (
        <RemoveSuppressionsDialog
          emails={[email]}
          kinds={[found.kind]}
          onClose={() => setRemoving(false)}
          onRemoved={onClose}
        />
      )}
    </Sheet>
  )
}

function SuppressionDetails({ found }: { readonly found: Suppression }): ReactNode {
  const { suppressions: texts } = useTexts()
  const path = useWorkspacePath()
  const { kind, reason, reply, rule, message_id: messageId, created_at: createdAt, updated_at: updatedAt } = found
  const replyText =
    reply === null ? null : [reply.code, reply.status, reply.text].filter((part) => part !== null).join(' ')
  const items = [
    { label: texts.cause, value: <StatusBadge tone={KIND_TONES[kind]}>{texts.kinds[kind]}</StatusBadge> },
    { label: texts.why, value: <span className="break-words">{reason}</span> },
    { label: texts.since, value: <DateTime value={createdAt} /> },
    ...(updatedAt === createdAt ? [] : [{ label: texts.changed, value: <DateTime value={updatedAt} /> }]),
    ...(rule === null ? [] : [{ label: texts.rule, value: <code className="font-mono text-sm">{rule}</code> }]),
  ]
  return (
    <div className="flex flex-col gap-4">
      <p className="text-muted">{texts.meanings[kind]}</p>
      <KeyValueList items={items} />
      {replyText !== null && <CodeBlock title={texts.reply} text={replyText} isWrapped />}
      <p className="flex flex-wrap gap-x-4 gap-y-2">
        {messageId !== null && <LinkText href={path(`/messages/${messageId}`)}>{texts.showMessage}</LinkText>}
        <LinkText href={path('/messages', { recipient: found.email })}>{texts.showMessages}</LinkText>
      </p>
    </div>
  )
}
