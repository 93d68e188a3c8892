export { segments } from '#dashboard/src/texts/en/segments.ts'
