import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Agenda, createAgenda, type Turn } from './agenda.js';

const START = '2030-01-01T00:00:00.000Z';

function emptied(agenda: Agenda): void {
  for (let work = agenda.next(); work !== undefined; work = agenda.next()) void work();
}

describe('the virtual clock', () => {
  it('moves from one entry to the next, in the order of time', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1000)), (delays) => {
        const agenda = createAgenda(START);
        const seen: number[] = [];
        for (const delay of delays) agenda.plan(delay, () => void seen.push(agenda.nowMs - Date.parse(START)));
        emptied(agenda);
        expect(seen).toEqual(delays.toSorted((a, b) => a - b));
      }),
    );
  });

  it('keeps the order in which entries of one moment were planned', () => {
    const agenda = createAgenda(START);
    const seen: string[] = [];
    for (const name of ['a', 'b', 'c']) agenda.plan(5, () => void seen.push(name), 'any');
    emptied(agenda);
    expect(seen).toEqual(['a', 'b', 'c']);
  });

  it('shuffles only what nothing orders, and loses nothing', () => {
    fc.assert(
      fc.property(fc.integer(), fc.array(fc.constantFrom<Turn>('first', 'planned', 'any')), (seed, turns) => {
        const agenda = createAgenda(START, seed);
        const seen: number[] = [];
        for (const [index, turn] of turns.entries()) agenda.plan(0, () => void seen.push(index), turn);
        emptied(agenda);
        const of = (turn: Turn, list: readonly number[]) => list.filter((index) => turns[index] === turn);
        const all = turns.map((_, index) => index);
        expect(seen.toSorted((a, b) => a - b)).toEqual(all);
        for (const turn of ['first', 'planned'] as const) expect(of(turn, seen)).toEqual(of(turn, all));
        expect(seen.slice(0, of('first', all).length)).toEqual(of('first', all));
      }),
    );
  });

  it('shows what was planned on the way', () => {
    const agenda = createAgenda(START);
    const seen: string[] = [];
    agenda.plan(1000, () => agenda.plan(500, () => void seen.push(agenda.now)));
    emptied(agenda);
    expect(seen).toEqual(['2030-01-01T00:00:01.500Z']);
  });
});
