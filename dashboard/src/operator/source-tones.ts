import type { EgressSource } from '#dashboard/src/api/endpoints.ts'
import type { Tone } from '#dashboard/src/ui/tone.ts'

export const SOURCE_TONES: Readonly<Record<EgressSource['state'], Tone>> = {
  active: 'success',
  warming: 'info',
  paused: 'warning',
  gone: 'danger',
}
