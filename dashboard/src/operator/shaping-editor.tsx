/** A shaping file that is checked while it is typed, and replayed on request. It is not put to use from here. */
import { FileUp, History } from '#dashboard/src/ui/icons.tsx'
import { useRef, useState, type ReactNode } from 'react'
import { adminCheckShaping, adminReplayShaping } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { TextArea } from '#dashboard/src/ui/text-area.tsx'
import { useDebounced } from '#dashboard/src/ui/use-debounced.ts'
import { ShapingReplay } from './shaping-replay.tsx'

const WAIT_MS = 500
const DAYS = ['1', '7', '31'] as const

export function ShapingEditor(): ReactNode {
  const { operator } = useTexts()
  const { shaping: texts } = operator
  const [file, setFile] = useState('')
  const [days, setDays] = useState<(typeof DAYS)[number]>('7')
  const settled = useDebounced(file, WAIT_MS)
  const replay = useAction(adminReplayShaping)
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <Field label={texts.file}>
        <TextArea
          value={file}
          onChange={setFile}
          isMono
          rows={14}
          spellCheck={false}
          placeholder={'receivers:\n  example:\n    mx: [mx.example.com]\n    connections: 10'}
          className="max-h-[60dvh]"
        />
      </Field>
      <FileProblems file={settled} />
      <div className="flex flex-wrap items-end gap-3">
        <OpenFile onOpen={setFile} />
        <Field label={texts.days} className="ml-auto">
          <Select value={days} onChange={setDays} options={DAYS.map((value) => ({ value, label: value }))} />
        </Field>
        <Button
          variant="primary"
          icon={History}
          disabled={file.trim() === ''}
          isLoading={replay.isPending}
          onClick={() => replay.mutate({ body: { file, days: Number(days) } })}
        >
          {texts.replay}
        </Button>
      </div>
      {replay.data !== undefined && <ShapingReplay replay={replay.data.data} />}
    </div>
  )
}

function FileProblems({ file }: { readonly file: string }): ReactNode {
  const { operator } = useTexts()
  const { shaping: texts } = operator
  const isEmpty = file.trim() === ''
  const checked = useApi(adminCheckShaping, { body: { file } }, { isEnabled: !isEmpty, keepsPrevious: true })
  if (isEmpty) return <Callout>{texts.empty}</Callout>
  if (checked.error !== null) return <Callout tone="danger">{checked.error.message}</Callout>
  const problems = checked.data?.data.problems ?? []
  if (checked.data === undefined) return <Callout>{texts.checking}</Callout>
  if (checked.data.data.is_valid && problems.length === 0) return <Callout tone="success">{texts.valid}</Callout>
  return (
    <Callout tone={checked.data.data.is_valid ? 'warning' : 'danger'} title={texts.invalid(problems.length)}>
      <ul className="flex flex-col gap-1">
        {problems.map(({ line, text }) => (
          <li key={`${line} ${text}`} className="break-words">
            <span className="font-medium">{line === 0 ? texts.wholeFile : texts.line(line)}:</span> {text}
          </li>
        ))}
      </ul>
    </Callout>
  )
}

function OpenFile({ onOpen }: { readonly onOpen: (text: string) => void }): ReactNode {
  const { operator } = useTexts()
  const field = useRef<HTMLInputElement>(null)
  return (
    <>
      <Button icon={FileUp} onClick={() => field.current?.click()}>
        {operator.shaping.open}
      </Button>
      <input
        ref={field}
        type="file"
        accept=".yaml,.yml"
        aria-label={operator.shaping.open}
        className="hidden"
        onChange={({ target }) => {
          void target.files?.[0]?.text().then(onOpen)
          target.value = ''
        }}
      />
    </>
  )
}
