/** What the check of the server found: what prevents sending first, then what an author should know. */
import { CircleAlert, CircleCheck, TriangleAlert } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import type { TemplateCheck } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { useServerText } from '#dashboard/src/texts/use-server-text.ts'
import { ByteSize } from '#dashboard/src/ui/numbers.tsx'

export function TemplateFindings({ check }: { readonly check: TemplateCheck['data'] | null }): ReactNode {
  const { templates } = useTexts()
  const say = useServerText()
  if (check === null) return null
  const { findings, size } = check
  return (
    <section aria-label={templates.findings} className="rounded-lg border border-line bg-surface p-4">
      <div className="flex items-center justify-between gap-3">
        <h2 className="font-semibold text-ink">{templates.findings}</h2>
        <span className="text-sm text-muted">
          <ByteSize bytes={size} />
        </span>
      </div>
      <ul className="mt-2 flex flex-col gap-1.5">
        {findings.length === 0 && (
          <li className="flex items-start gap-2 text-sm text-muted">
            <CircleCheck size={16} aria-hidden="true" className="mt-0.5 shrink-0 text-success" />
            {templates.noFindings}
          </li>
        )}
        {findings.map(({ level, message, translation, part, line, rule }) => (
          <li key={`${rule}${part ?? ''}${line ?? ''}${message}`} className="flex items-start gap-2 text-sm">
            {level === 'error' ? (
              <CircleAlert size={16} aria-hidden="true" className="mt-0.5 shrink-0 text-danger" />
            ) : (
              <TriangleAlert size={16} aria-hidden="true" className="mt-0.5 shrink-0 text-warning" />
            )}
            <span className="min-w-0 break-words">
              <span className="font-medium">{templates.levels[level]}:</span> {say(message, translation)}
              {line !== null && <span className="text-muted"> ({templates.line(line)})</span>}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
