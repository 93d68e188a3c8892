import { RotateCw, TriangleAlert } from './icons.tsx'
import { type ReactNode } from 'react'
import { Button } from './button.tsx'
import { CopyButton } from './copy-button.tsx'
import { useUiTexts } from './ui-texts.ts'

export interface ErrorStateProps {
  title: string
  /** What the reader can do next. */
  text?: ReactNode
  requestId?: string | undefined
  onRetry?: (() => void) | undefined
  isRetrying?: boolean | undefined
}

/** Something did not load. It names the request, so that the log can be searched for it. */
export function ErrorState({ title, text, requestId, onRetry, isRetrying }: ErrorStateProps) {
  const texts = useUiTexts()
  return (
    <div role="alert" className="flex flex-col items-center px-6 py-10 text-center">
      <span className="mb-3 flex size-10 items-center justify-center rounded-lg bg-danger-soft text-danger-text">
        <TriangleAlert size={20} aria-hidden="true" />
      </span>
      <p className="text-lg font-medium text-ink">{title}</p>
      {text !== undefined && <div className="mt-1 max-w-md text-balance text-muted">{text}</div>}
      {onRetry !== undefined && (
        <Button className="mt-4" icon={RotateCw} onClick={onRetry} isLoading={isRetrying}>
          {texts.retry}
        </Button>
      )}
      {requestId !== undefined && (
        <p className="mt-3 flex items-center gap-1 text-sm text-muted">
          {texts.requestId} <code className="font-mono text-xs">{requestId}</code>
          <CopyButton text={requestId} size="sm" />
        </p>
      )}
    </div>
  )
}
