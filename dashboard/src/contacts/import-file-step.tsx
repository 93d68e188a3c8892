import { FileText } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { addAudience } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useAudienceChoices } from '#dashboard/src/contact-list/audience-options.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { FileDrop } from '#dashboard/src/ui/file-drop.tsx'
import { ByteSize } from '#dashboard/src/ui/numbers.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { openImportFile, type ImportFile } from './import-file.ts'

interface FileStepProps {
  readonly audienceId: string | null
  readonly onAudience: (id: string) => void
  readonly file: ImportFile | null
  readonly onFile: (file: ImportFile) => void
  readonly onNext: () => void
}

const NEW = 'new'

export function FileStep({ audienceId, onAudience, file, onFile, onNext }: FileStepProps): ReactNode {
  const { imports } = useTexts()
  const [isUnreadable, setUnreadable] = useState(false)
  const open = async (chosen: File | undefined): Promise<void> => {
    if (chosen === undefined) return
    const opened = await openImportFile(chosen).catch(() => null)
    setUnreadable(opened === null)
    if (opened !== null) onFile(opened)
  }
  return (
    <div className="flex flex-col gap-5">
      <AudienceChoice audienceId={audienceId} onAudience={onAudience} />
      <Field label={imports.file} isRequired>
        <FileDrop
          accept=".csv,.tsv,.txt,text/csv,text/plain"
          hint={imports.fileHint}
          onFiles={([chosen]) => void open(chosen)}
        />
      </Field>
      {isUnreadable && <Callout tone="danger">{imports.unreadable}</Callout>}
      {file !== null && (
        <Card className="flex items-center gap-3">
          <FileText size={20} aria-hidden="true" className="shrink-0 text-faint" />
          <span className="min-w-0 grow truncate font-medium">{file.file.name}</span>
          <span className="text-sm text-muted">
            <ByteSize bytes={file.file.size} /> · {imports.columnCount(file.head.header.length)}
            {file.encoding !== 'utf-8' && ` · ${imports.converted(file.encoding)}`}
          </span>
        </Card>
      )}
      <Button variant="primary" className="self-end" disabled={file === null || audienceId === null} onClick={onNext}>
        {imports.next}
      </Button>
    </div>
  )
}

/** An audience that exists, or a new one. */
function AudienceChoice({ audienceId, onAudience }: Pick<FileStepProps, 'audienceId' | 'onAudience'>): ReactNode {
  const { imports } = useTexts()
  const choices = useAudienceChoices()
  const canCreate = useCan()('audiences:write')
  const [isNew, setNew] = useState(false)
  const [name, setName] = useState('')
  const create = useAction(addAudience, {
    invalidates: ['/public/audiences'],
    onSuccess: ({ data }) => {
      onAudience(data.id)
      setNew(false)
    },
  })
  const options = canCreate ? [...choices, { value: NEW, label: imports.newAudience }] : choices
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <Field label={imports.audience} hint={imports.audienceHint} isRequired>
        <Select
          value={isNew ? NEW : audienceId}
          options={options}
          placeholder={imports.chooseAudience}
          onChange={(value) => {
            setNew(value === NEW)
            if (value !== NEW) onAudience(value)
          }}
        />
      </Field>
      {isNew && (
        <form
          className="flex items-end gap-2"
          onSubmit={(event) => {
            event.preventDefault()
            if (name.trim() !== '') create.mutate({ body: { name, double_opt_in: true } })
          }}
        >
          <Field label={imports.audienceName} className="grow">
            <TextInput value={name} onChange={setName} />
          </Field>
          <Button type="submit" isLoading={create.isPending} disabled={name.trim() === ''}>
            {imports.createAudience}
          </Button>
        </form>
      )}
    </div>
  )
}
