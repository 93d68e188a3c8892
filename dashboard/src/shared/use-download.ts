/** Saves the answer of an endpoint as a file, byte for byte: a link cannot send the workspace. */
import { useMutation } from '@tanstack/react-query'
import { use } from 'react'
import { download, type ApiError, type Endpoint } from '#dashboard/src/api/endpoint.ts'
import { ActionErrorContext, useScope } from '#dashboard/src/api/queries.ts'

/** The browser reads the file after the click. */
const REVOKE_MS = 10_000

export interface Download<Input> {
  readonly start: (input: Input) => void
  readonly isRunning: boolean
}

export function useDownload<Input>(
  endpoint: Endpoint<Input, unknown>,
  fileName: string | ((input: Input) => string),
): Download<Input> {
  const workspaceId = useScope(endpoint)
  const report = use(ActionErrorContext)
  const { mutate, isPending } = useMutation<Blob, ApiError, Input>({
    mutationFn: (input) => download(endpoint, input, { workspaceId }),
    onSuccess: (file, input) => saveFile(typeof fileName === 'string' ? fileName : fileName(input), file),
    onError: report,
  })
  return { start: (input) => mutate(input), isRunning: isPending }
}

function saveFile(name: string, content: Blob): void {
  const url = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), REVOKE_MS)
}
