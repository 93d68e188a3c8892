import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { importSuppressions, type ImportSuppressionsAnswer } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { FileDrop } from '#dashboard/src/ui/file-drop.tsx'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { Progress } from '#dashboard/src/ui/meter.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'

/** A file of addresses; the columns `reason` and `kind` are optional. An import can be repeated. */
export function ImportSuppressionsDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const { suppressions: texts } = useTexts()
  const [result, setResult] = useState<ImportSuppressionsAnswer['data'] | null>(null)
  const [error, setError] = useState<ApiError | null>(null)
  const action = useAction(importSuppressions, {
    invalidates: ['/public/suppressions', '/public/contacts'],
    onSuccess: ({ data }) => setResult(data),
    onError: setError,
  })
  return (
    <Dialog
      isOpen
      onOpenChange={onClose}
      title={texts.importTitle}
      description={texts.importText}
      footer={result === null ? undefined : <Button onClick={onClose}>{texts.close}</Button>}
    >
      <div className="flex flex-col gap-4">
        {error !== null && <Callout tone="danger">{error.message}</Callout>}
        {action.isPending && <Progress label={texts.importing} share={null} />}
        {result === null && !action.isPending && (
          <FileDrop
            accept=".csv,.txt,text/csv,text/plain"
            hint={texts.importHint}
            onFiles={([file]) => {
              setError(null)
              if (file !== undefined) action.mutate({ body: file })
            }}
          />
        )}
        {result !== null && <ImportResult result={result} />}
      </div>
    </Dialog>
  )
}

function ImportResult({ result }: { readonly result: ImportSuppressionsAnswer['data'] }): ReactNode {
  const { suppressions: texts } = useTexts()
  return (
    <>
      <KeyValueList
        items={[
          { label: texts.resultAdded, value: <NumberText value={result.added} isExact /> },
          { label: texts.resultListed, value: <NumberText value={result.unchanged + result.strengthened} isExact /> },
          { label: texts.resultInvalid, value: <NumberText value={result.invalid} isExact /> },
        ]}
      />
      {result.errors.length > 0 && (
        <ul className="max-h-48 overflow-y-auto rounded-md border border-line p-3 text-sm" tabIndex={0}>
          {result.errors.map(({ line, value, message }, index) => (
            <li key={index} className="break-words">
              <span className="text-muted">{line === null ? '' : `${texts.line} ${line.toString()}: `}</span>
              {value} <span className="text-danger-text">{message}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
