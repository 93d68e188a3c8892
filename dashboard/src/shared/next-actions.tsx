import { CircleCheck } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import type { DeskAction } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { useServerText } from '#dashboard/src/texts/use-server-text.ts'
import { Card } from '#dashboard/src/ui/card.tsx'
import { EmptyState } from '#dashboard/src/ui/empty-state.tsx'
import { LinkText } from '#dashboard/src/ui/link-text.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'

/** What to do next, the most useful first, each with its evidence. */
export function NextActions({ actions }: { readonly actions: readonly DeskAction[] }): ReactNode {
  const { operator } = useTexts()
  if (actions.length === 0)
    return (
      <Card>
        <EmptyState icon={CircleCheck} title={operator.desk.nothing} text={operator.desk.nothingText} />
      </Card>
    )
  return (
    <ol className="grid gap-4 lg:grid-cols-3">
      {actions.map((action) => (
        <li key={`${action.rule} ${action.subject}`} className="min-w-0">
          <NextAction action={action} />
        </li>
      ))}
    </ol>
  )
}

function NextAction({ action }: { readonly action: DeskAction }): ReactNode {
  const { operator } = useTexts()
  const say = useServerText()
  return (
    <Card className="flex h-full min-w-0 flex-col gap-2">
      <h3 className="font-medium break-words text-ink">{say(action.title, action.title_translation)}</h3>
      <p className="text-sm text-muted">
        {action.subject}
        {action.since !== null && (
          <>
            {' '}
            · {operator.since} <RelativeTime value={action.since} />
          </>
        )}
      </p>
      <p className="break-words">{say(action.todo, action.todo_translation)}</p>
      {action.evidence.length > 0 && (
        <ul aria-label={operator.desk.evidence} className="list-disc pl-4 text-sm text-muted">
          {action.evidence.map((line, index) => (
            <li key={line} className="break-words">
              {say(line, action.evidence_translations[index])}
            </li>
          ))}
        </ul>
      )}
      {action.reply !== null && (
        <p className="text-sm">
          <span className="block text-muted">{operator.desk.reply}</span>
          <code className="font-mono text-xs break-words">{action.reply}</code>
        </p>
      )}
      <p className="mt-auto pt-1 text-sm">
        <LinkText href={action.guide} isExternal>
          {operator.desk.guide}
        </LinkText>
      </p>
    </Card>
  )
}
