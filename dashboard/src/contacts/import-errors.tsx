import { Download } from '#dashboard/src/ui/icons.tsx'
import type { ReactNode } from 'react'
import { getImportErrors } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useDownload } from '#dashboard/src/shared/use-download.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { useServerText } from '#dashboard/src/texts/use-server-text.ts'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { DataTable } from '#dashboard/src/ui/data-table.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'

/** Longer lists scroll in a box. */
const SHORT = 8

interface ImportErrorsProps {
  readonly id: string
  readonly failed: number
}

/** The rows that were not imported: the first ones here, up to a thousand as a file. */
export function ImportErrors({ id, failed }: ImportErrorsProps): ReactNode {
  const { imports } = useTexts()
  const say = useServerText()
  const { data } = useApi(getImportErrors, { params: { id }, query: { limit: 100 } })
  const download = useDownload(getImportErrors, `import-errors-${id}.csv`)
  return (
    <Section
      title={imports.errors(failed)}
      description={imports.errorsText}
      level={2}
      actions={
        <Button
          size="sm"
          icon={Download}
          isLoading={download.isRunning}
          onClick={() => download.start({ params: { id }, query: { format: 'csv' } })}
        >
          {imports.downloadErrors}
        </Button>
      }
    >
      <Card padding="none">
        <DataTable
          label={imports.errors(failed)}
          isDense
          {...(failed > SHORT ? { height: '20rem' } : {})}
          rows={data?.data.errors ?? null}
          getRowId={({ line, column }) => `${line.toString()} ${column ?? ''}`}
          columns={[
            { id: 'line', header: imports.line, width: '5rem', align: 'right', cell: ({ line }) => line },
            { id: 'column', header: imports.column, width: '25%', priority: 2, cell: ({ column }) => column },
            { id: 'message', header: imports.message, cell: ({ message, translation }) => say(message, translation) },
            { id: 'value', header: imports.value, width: '25%', priority: 2, cell: ({ value }) => value },
          ]}
        />
      </Card>
    </Section>
  )
}
