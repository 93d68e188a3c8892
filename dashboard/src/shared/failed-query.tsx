/** A part of a page that did not load: what happened, the request, and another try. */
import type { ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { ErrorState } from '#dashboard/src/ui/error-state.tsx'
import { describeError } from './form-errors.ts'

interface FailedQueryProps {
  readonly query: {
    readonly error: ApiError | null
    readonly isFetching: boolean
    refetch(): unknown
  }
  /** What did not load. */
  readonly title: string
}

export function FailedQuery({ query, title }: FailedQueryProps): ReactNode {
  const { error } = query
  if (error === null) return null
  const isFinal = error.status === 404 || error.status === 403 || error.status === 422
  return (
    <ErrorState
      title={title}
      text={describeError(error)}
      requestId={error.requestId ?? undefined}
      onRetry={isFinal ? undefined : () => void query.refetch()}
      isRetrying={query.isFetching}
    />
  )
}
