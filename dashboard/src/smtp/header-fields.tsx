import type { ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { CopyButton } from '#dashboard/src/ui/copy-button.tsx'
import type { DataColumn } from '#dashboard/src/ui/data-table-columns.ts'
import { Card } from '#dashboard/src/ui/card.tsx'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'

const FIELDS = [
  { key: 'tier', example: 'X-Priority-Tier: instant' },
  { key: 'tag', example: 'X-Tag: invoice' },
  { key: 'opens', example: 'X-Track-Opens: yes' },
  { key: 'clicks', example: 'X-Track-Clicks: yes' },
  { key: 'metadata', example: 'X-Metadata: {"order": 7}' },
  { key: 'idempotency', example: 'X-Idempotency-Key: order-7' },
  { key: 'template', example: 'X-Template-Id: <id>' },
  { key: 'params', example: 'X-Params: {"name": "Ann"}' },
] as const

type HeaderField = (typeof FIELDS)[number]

/** The features that programs reach by fields in the header of the mail. */
export function HeaderFields(): ReactNode {
  const { smtp } = useTexts()
  const columns: readonly DataColumn<HeaderField>[] = [
    {
      id: 'field',
      header: smtp.field,
      cell: ({ example }) => (
        <span className="flex min-w-0 items-center gap-1">
          <code className="truncate font-mono text-sm">{example}</code>
          <CopyButton text={example} label={smtp.copy(example)} />
        </span>
      ),
      width: '50%',
    },
    {
      id: 'text',
      header: smtp.effect,
      cell: ({ key }) => <span className="whitespace-normal">{smtp.fields[key]}</span>,
    },
  ]
  return (
    <Section title={smtp.headers} description={smtp.headersText}>
      <Card padding="none">
        <DataTable label={smtp.headers} columns={columns} rows={FIELDS} getRowId={({ key }) => key} />
      </Card>
    </Section>
  )
}
