/** How a new template is written, then its editor. The choice is in the address. */
import { Blocks, CodeXml, FileCode, Text } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { UiLink } from '#dashboard/src/ui/ui-link.tsx'
import { KINDS } from './draft.ts'
import { TemplateEditor } from './template-editor.tsx'

const ICONS = { blocks: Blocks, html: CodeXml, mjml: FileCode, text: Text }

export function NewTemplatePage(): ReactNode {
  const { templates } = useTexts()
  const path = useWorkspacePath()
  const [search] = useAddressSearch()
  const breadcrumbs = [{ label: templates.title, href: path('/templates') }]
  const kind = KINDS.find((one) => one === search['kind'])
  if (kind !== undefined) return <TemplateEditor key={kind} template={null} kind={kind} breadcrumbs={breadcrumbs} />
  return (
    <>
      <PageHeader title={templates.create} description={templates.createText} breadcrumbs={breadcrumbs} />
      <ul className="grid max-w-3xl gap-3 sm:grid-cols-2">
        {KINDS.map((one) => {
          const Icon = ICONS[one]
          return (
            <li key={one}>
              <UiLink
                href={path('/templates/new', { kind: one })}
                className="flex h-full gap-3 rounded-lg border border-line bg-surface p-4 transition-colors hover:border-line-strong hover:bg-hover"
              >
                <Icon size={20} aria-hidden="true" className="mt-0.5 shrink-0 text-accent-text" />
                <span>
                  <span className="block font-medium text-ink">{templates.kinds[one]}</span>
                  <span className="mt-1 block text-muted">{templates.kindTexts[one]}</span>
                </span>
              </UiLink>
            </li>
          )
        })}
      </ul>
    </>
  )
}
