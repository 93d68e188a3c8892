/**
 * Imports a file in four steps: the file, its columns, a trial run that changes nothing, and the import, which has a
 * page of its own and goes on without this one.
 */
import { useNavigate } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { importContacts } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { describeError } from '#dashboard/src/shared/form-errors.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Progress } from '#dashboard/src/ui/meter.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Stepper } from '#dashboard/src/ui/stepper.tsx'
import { toApiMapping, detectMapping, type ColumnMeaning } from './column-mapping.ts'
import { ColumnsStep } from './import-columns-step.tsx'
import { FileStep } from './import-file-step.tsx'
import { readForImport, type ImportFile } from './import-file.ts'
import { TrialStep } from './import-trial-step.tsx'

const STEPS = ['file', 'columns', 'trial', 'import'] as const
type Step = (typeof STEPS)[number]

interface Draft {
  readonly file: ImportFile
  readonly mapping: readonly ColumnMeaning[]
}

/** Sends the file; the answer is the import, waiting or running. */
function useUpload(audienceId: string | null) {
  const [error, setError] = useState<ApiError | null>(null)
  const action = useAction(importContacts, { invalidates: ['/public/contacts/imports'], onError: setError })
  const send = async ({ file, mapping }: Draft, isTrial: boolean): Promise<string | null> => {
    setError(null)
    const body = await readForImport(file)
    const query = {
      ...(audienceId === null ? {} : { audienceId }),
      mapping: JSON.stringify(toApiMapping(file.head.header, mapping)),
      dryRun: isTrial ? ('true' as const) : ('false' as const),
    }
    // the error is shown by the step
    return action.mutateAsync({ query, body }).then(
      ({ data }) => data.id,
      () => null,
    )
  }
  return { send, error, isSending: action.isPending }
}

export function ImportWizard(): ReactNode {
  const { imports } = useTexts()
  const path = useWorkspacePath()
  const navigate = useNavigate()
  const canWrite = useCan()('contacts:write')
  const [search, change] = useAddressSearch()
  const audienceId = search['audience'] ?? null
  const [step, setStep] = useState<Step>('file')
  const [draft, setDraft] = useState<Draft | null>(null)
  const [trialId, setTrialId] = useState<string | null>(null)
  const upload = useUpload(audienceId)
  const current = STEPS.indexOf(step)
  const start = async (isTrial: boolean): Promise<void> => {
    if (draft === null) return
    const id = await upload.send(draft, isTrial)
    if (id === null) return
    if (!isTrial) return navigate({ to: path(`/contacts/imports/${id}`) })
    setTrialId(id)
    setStep('trial')
  }
  return (
    <>
      <PageHeader
        title={imports.wizardTitle}
        description={imports.wizardText}
        breadcrumbs={[{ label: imports.title, href: path('/contacts/imports') }]}
      />
      {canWrite ? (
        <div className="flex max-w-4xl flex-col gap-6">
          <Stepper
            label={imports.steps}
            currentKey={step}
            steps={STEPS.map((key, index) => ({ key, label: imports.stepNames[key], isDone: index < current }))}
          />
          {upload.error !== null && <Callout tone="danger">{describeError(upload.error)}</Callout>}
          {upload.isSending && <Progress label={imports.sending} share={null} />}
          {step === 'file' && (
            <FileStep
              audienceId={audienceId}
              onAudience={(id) => change({ audience: id })}
              file={draft?.file ?? null}
              onFile={(file) => setDraft({ file, mapping: detectMapping(file.head) })}
              onNext={() => setStep('columns')}
            />
          )}
          {step === 'columns' && draft !== null && (
            <ColumnsStep
              file={draft.file}
              mapping={draft.mapping}
              onMapping={(mapping) => setDraft({ ...draft, mapping })}
              onBack={() => setStep('file')}
              onNext={() => void start(true)}
              isBusy={upload.isSending}
            />
          )}
          {step === 'trial' && trialId !== null && (
            <TrialStep
              id={trialId}
              onBack={() => setStep('columns')}
              onNext={() => void start(false)}
              isBusy={upload.isSending}
            />
          )}
        </div>
      ) : (
        <Callout tone="warning">{imports.notAllowed}</Callout>
      )}
    </>
  )
}
