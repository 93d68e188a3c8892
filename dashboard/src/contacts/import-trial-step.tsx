import type { ReactNode } from 'react'
import { getImport } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { ImportErrors } from './import-errors.tsx'
import { ImportCounts, ImportProgress } from './import-progress.tsx'

interface TrialStepProps {
  readonly id: string
  readonly onBack: () => void
  readonly onNext: () => void
  readonly isBusy: boolean
}

/** What the import would do. Nothing has changed yet. */
export function TrialStep({ id, onBack, onNext, isBusy }: TrialStepProps): ReactNode {
  const { imports } = useTexts()
  const query = useApi(getImport, { params: { id } })
  const trial = query.data?.data
  if (query.isError) return <FailedQuery query={query} title={imports.notLoaded} />
  const isDone = trial?.status === 'done'
  return (
    <div className="flex flex-col gap-5">
      {trial !== undefined && <ImportProgress found={trial} />}
      {isDone && <Callout title={imports.trialDone}>{imports.trialText}</Callout>}
      {isDone && <ImportCounts found={trial} />}
      {isDone && trial.rows.failed > 0 && <ImportErrors id={id} failed={trial.rows.failed} />}
      <div className="flex justify-between gap-2">
        <Button onClick={onBack}>{imports.back}</Button>
        <Button variant="primary" disabled={!isDone} isLoading={isBusy} onClick={onNext}>
          {trial === undefined
            ? imports.start
            : imports.startCount(trial.rows.read - trial.rows.failed - trial.rows.duplicates)}
        </Button>
      </div>
    </div>
  )
}
