import type { ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { attributeName, checkMapping, FIELD_MEANINGS, type ColumnMeaning } from './column-mapping.ts'
import type { ImportFile } from './import-file.ts'

interface ColumnsStepProps {
  readonly file: ImportFile
  readonly mapping: readonly ColumnMeaning[]
  readonly onMapping: (mapping: readonly ColumnMeaning[]) => void
  readonly onBack: () => void
  readonly onNext: () => void
  readonly isBusy: boolean
}

const SHOWN_VALUES = 3

export function ColumnsStep({ file, mapping, onMapping, onBack, onNext, isBusy }: ColumnsStepProps): ReactNode {
  const { imports } = useTexts()
  const problem = checkMapping(mapping)
  const { header, rows } = file.head
  return (
    <div className="flex flex-col gap-5">
      <Card padding="none">
        <ul aria-label={imports.columns} className="divide-y divide-line">
          {header.map((name, column) => (
            <li key={column} className="grid items-center gap-x-6 gap-y-2 px-4 py-3 sm:grid-cols-2">
              <div className="min-w-0">
                <p className="truncate font-medium">{name === '' ? imports.unnamed(column + 1) : name}</p>
                <p className="truncate text-sm text-muted">
                  {rows
                    .slice(0, SHOWN_VALUES)
                    .map((row) => row[column] ?? '')
                    .filter((value) => value !== '')
                    .join(', ') || imports.noValues}
                </p>
              </div>
              <MeaningField
                column={name}
                meaning={mapping[column] ?? { kind: 'ignore' }}
                onChange={(meaning) => onMapping(mapping.map((one, at) => (at === column ? meaning : one)))}
              />
            </li>
          ))}
        </ul>
      </Card>
      {problem !== null && <Callout tone="warning">{imports.problems[problem]}</Callout>}
      <div className="flex justify-between gap-2">
        <Button onClick={onBack}>{imports.back}</Button>
        <Button variant="primary" disabled={problem !== null} isLoading={isBusy} onClick={onNext}>
          {imports.startTrial}
        </Button>
      </div>
    </div>
  )
}

interface MeaningFieldProps {
  readonly column: string
  readonly meaning: ColumnMeaning
  readonly onChange: (meaning: ColumnMeaning) => void
}

function MeaningField({ column, meaning, onChange }: MeaningFieldProps): ReactNode {
  const { imports } = useTexts()
  const fields = FIELD_MEANINGS.map((field) => ({ value: field as string, label: imports.fields[field] }))
  return (
    <div className="flex min-w-0 gap-2">
      <Select
        label={imports.meaningOf(column)}
        value={meaning.kind === 'field' ? meaning.field : meaning.kind}
        groups={[
          { label: imports.groupFields, options: fields },
          {
            label: imports.groupOther,
            options: [
              { value: 'attribute', label: imports.attribute },
              { value: 'ignore', label: imports.ignore },
            ],
          },
        ]}
        onChange={(value) => {
          const field = FIELD_MEANINGS.find((one) => one === value)
          if (field !== undefined) onChange({ kind: 'field', field })
          else onChange(value === 'attribute' ? { kind: 'attribute', name: attributeName(column) } : { kind: 'ignore' })
        }}
      />
      {meaning.kind === 'attribute' && (
        <TextInput
          aria-label={imports.attributeNameOf(column)}
          value={meaning.name}
          onChange={(name) => onChange({ kind: 'attribute', name })}
          isMono
        />
      )}
    </div>
  )
}
