/** Saves the answer of an endpoint as a file: a link cannot send the workspace. */
import type { Endpoint } from '#dashboard/src/api/endpoint.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { saveFile } from './save-file.ts'

export interface Download<Input> {
  readonly start: (input: Input) => void
  readonly isRunning: boolean
}

export function useDownload<Input>(
  endpoint: Endpoint<Input, unknown>,
  fileName: string,
  type = 'text/csv',
): Download<Input> {
  const action = useAction(endpoint, {
    onSuccess: (answer) =>
      saveFile(fileName, typeof answer === 'string' ? answer : JSON.stringify(answer, null, 2), type),
  })
  return { start: (input) => action.mutate(input), isRunning: action.isPending }
}
