//! Data sets in memory.

use super::buffer::Values;
use super::csv::{format_error, read_table};
use super::{Form, Forms, Random, Samples, Slot};
use crate::nn::invalid;
use crate::Result;
use std::fmt;
use std::path::Path;

/// One input or target of many samples: their numbers, sample after sample.
#[derive(Clone, Debug)]
pub struct Column {
    values: Values,
    form: Form,
}

impl Column {
    /// F32 numbers; `shape` is the shape of one sample.
    pub fn f32(shape: impl Into<Vec<i64>>, values: Vec<f32>) -> Self {
        Self { values: Values::F32(values), form: Form::f32(shape) }
    }

    /// I32 numbers; `shape` is the shape of one sample.
    pub fn i32(shape: impl Into<Vec<i64>>, values: Vec<i32>) -> Self {
        Self { values: Values::I32(values), form: Form::i32(shape) }
    }

    fn n_values(&self) -> usize {
        match &self.values {
            Values::F32(values) => values.len(),
            Values::I32(values) => values.len(),
        }
    }

    fn chosen(&self, numbers: &[usize]) -> Self {
        fn chosen<T: Copy>(values: &[T], size: usize, numbers: &[usize]) -> Vec<T> {
            numbers.iter().flat_map(|i| values[i * size..(i + 1) * size].iter().copied()).collect()
        }
        let size = self.form.n_elements();
        let values = match &self.values {
            Values::F32(values) => Values::F32(chosen(values, size, numbers)),
            Values::I32(values) => Values::I32(chosen(values, size, numbers)),
        };
        Self { values, form: self.form.clone() }
    }

    fn write(&self, number: usize, slot: &mut Slot<'_>) {
        let size = self.form.n_elements();
        let place = number * size..(number + 1) * size;
        match (&self.values, slot) {
            (Values::F32(values), Slot::F32(to)) => to.copy_from_slice(&values[place]),
            (Values::I32(values), Slot::I32(to)) => to.copy_from_slice(&values[place]),
            _ => {} // cannot happen: a slot has the column's type
        }
    }
}

type Changes = Box<dyn Fn(&mut [f32], &mut Random) + Send + Sync>;

/// Samples in memory, each with its inputs and targets.
///
/// ```
/// use tensorlib::train::{Column, DataSet, Samples};
/// let points = Column::f32([2], vec![0., 0., 0., 1., 1., 0., 1., 1.]);
/// let labels = Column::i32([], vec![0, 1, 1, 0]);
/// let (train, test) = DataSet::new(points, labels)?.split_at(3)?;
/// assert_eq!((train.len(), test.len()), (3, 1));
/// # Ok::<(), tensorlib::Error>(())
/// ```
///
/// [`DataSet::from_columns`] makes samples of several inputs or targets.
pub struct DataSet {
    inputs: Vec<Column>,
    targets: Vec<Column>,
    len: usize,
    changes: Option<Changes>,
}

impl DataSet {
    /// Makes a data set with one input and one target per sample.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) if the numbers are not whole samples, or the numbers of inputs and
    /// targets differ.
    pub fn new(inputs: Column, targets: Column) -> Result<Self> {
        Self::from_columns(vec![inputs], vec![targets])
    }

    /// Makes a data set with any number of inputs and targets per sample, a column for each; at least one input.
    ///
    /// ```
    /// use tensorlib::train::{Column, DataSet, Samples};
    /// let questions = Column::i32([4], vec![0; 8]);
    /// let images = Column::f32([16, 16, 3], vec![0.; 2 * 768]);
    /// let answers = Column::i32([], vec![1, 0]);
    /// let pairs = DataSet::from_columns(vec![questions, images], vec![answers])?;
    /// assert_eq!(pairs.len(), 2);
    /// # Ok::<(), tensorlib::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for no inputs, numbers that are not whole samples, or columns of
    /// different lengths.
    pub fn from_columns(inputs: Vec<Column>, targets: Vec<Column>) -> Result<Self> {
        let count = |column: &Column, what: &str| {
            let (values, size) = (column.n_values(), column.form.n_elements());
            if size == 0 || values % size != 0 {
                let shape = &column.form.shape;
                return Err(invalid(format!("DataSet: {values} numbers of {what} {shape:?}: a multiple is valid")));
            }
            Ok(values / size)
        };
        let Some(first) = inputs.first() else {
            return Err(invalid("DataSet: no columns of inputs: at least one is valid".into()));
        };
        let len = count(first, "inputs")?;
        for (columns, what) in [(&inputs, "inputs"), (&targets, "targets")] {
            for column in columns {
                let found = count(column, what)?;
                if found != len {
                    let first = "samples of the first input: as many are valid";
                    return Err(invalid(format!("DataSet: {found} samples of {what}, {len} {first}")));
                }
            }
        }
        Ok(Self { inputs, targets, len, changes: None })
    }

    /// Reads a file of comma-separated numbers, a sample per line: the last number is its target, an I32 label. Empty
    /// lines, lines that begin with `#` and a first line of names are skipped.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error); [`Error::Format`](crate::Error) naming the line.
    pub fn read_labelled(path: impl AsRef<Path>) -> Result<Self> {
        let table = read_table(path.as_ref())?;
        let labels = table.last.iter().map(|(line, x)| {
            if *x == x.trunc() && x.abs() < 1e6 {
                Ok(*x as i32)
            } else {
                Err(format_error(path.as_ref(), &format!("line {line}: {x}: a label, a whole number, is valid")))
            }
        });
        let labels = labels.collect::<Result<_>>()?;
        Self::new(Column::f32([table.width], table.values), Column::i32([], labels))
    }

    /// Reads such a file with F32 targets: the last number of each line.
    ///
    /// # Errors
    /// As [`DataSet::read_labelled`].
    pub fn read_numbers(path: impl AsRef<Path>) -> Result<Self> {
        let table = read_table(path.as_ref())?;
        let targets = table.last.iter().map(|(_, x)| *x).collect();
        Self::new(Column::f32([table.width], table.values), Column::f32([1], targets))
    }

    /// Splits the set into the first n samples and the rest.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) if there are fewer than n samples.
    pub fn split_at(&self, n: usize) -> Result<(Self, Self)> {
        if n > self.len {
            return Err(invalid(format!("DataSet::split_at: {n} of {} samples: as many or fewer are valid", self.len)));
        }
        Ok((self.chosen(0..n)?, self.chosen(n..self.len)?))
    }

    /// The samples with these numbers, in this order.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for a number that no sample has.
    pub fn chosen(&self, numbers: impl IntoIterator<Item = usize>) -> Result<Self> {
        let numbers: Vec<usize> = numbers.into_iter().collect();
        if let Some(beyond) = numbers.iter().find(|i| **i >= self.len) {
            return Err(invalid(format!("DataSet::chosen: sample {beyond} of {}: a lower number is valid", self.len)));
        }
        let chosen = |columns: &[Column]| columns.iter().map(|column| column.chosen(&numbers)).collect();
        Ok(Self { inputs: chosen(&self.inputs), targets: chosen(&self.targets), len: numbers.len(), changes: None })
    }

    /// Changes the shape of the first input, keeping its size: `[8, 8, 1]` for images of one channel.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error) for a different number of elements.
    pub fn with_input_shape(mut self, shape: impl Into<Vec<i64>>) -> Result<Self> {
        let column = &mut self.inputs[0];
        let form = Form { dtype: column.form.dtype, shape: shape.into() };
        if form.n_elements() != column.form.n_elements() {
            let (old, new) = (&column.form.shape, &form.shape);
            return Err(invalid(format!("DataSet: inputs {old:?} as {new:?}: a shape of as many elements is valid")));
        }
        column.form = form;
        Ok(self)
    }

    /// Changes each sample's first input at random during training, for example by shifts or noise. Inputs of I32 stay
    /// as they are.
    #[must_use]
    pub fn with_changes(mut self, changes: impl Fn(&mut [f32], &mut Random) + Send + Sync + 'static) -> Self {
        self.changes = Some(Box::new(changes));
        self
    }

    /// The first input of all samples, sample after sample; empty for I32.
    pub fn inputs(&self) -> &[f32] {
        self.inputs[0].values.as_f32()
    }

    /// Changes the first input of each sample in place with a function of its numbers, for example to scale them.
    /// Inputs of I32 stay as they are.
    #[must_use]
    pub fn map_inputs(mut self, mut change: impl FnMut(&mut [f32])) -> Self {
        let size = self.inputs[0].form.n_elements();
        if let Values::F32(values) = &mut self.inputs[0].values {
            values.chunks_mut(size).for_each(&mut change);
        }
        self
    }

    /// The first target of all samples, sample after sample; empty for I32, and if there are no targets.
    pub fn targets(&self) -> &[f32] {
        self.targets.first().map_or(&[], |column| column.values.as_f32())
    }

    /// The first target of all samples, sample after sample; empty for F32, and if there are no targets.
    pub fn labels(&self) -> &[i32] {
        self.targets.first().map_or(&[], |column| column.values.as_i32())
    }
}

impl Samples for DataSet {
    fn len(&self) -> usize {
        self.len
    }

    fn forms(&self) -> Forms {
        let forms = |columns: &[Column]| columns.iter().map(|column| column.form.clone()).collect();
        Forms { inputs: forms(&self.inputs), targets: forms(&self.targets) }
    }

    fn write(
        &self,
        number: usize,
        random: Option<&mut Random>,
        inputs: &mut [Slot<'_>],
        targets: &mut [Slot<'_>],
    ) -> Result<()> {
        self.inputs.iter().zip(&mut *inputs).for_each(|(column, slot)| column.write(number, slot));
        self.targets.iter().zip(targets).for_each(|(column, slot)| column.write(number, slot));
        if let (Some(changes), Some(random), Some(Slot::F32(values))) = (&self.changes, random, inputs.first_mut()) {
            changes(values, random);
        }
        Ok(())
    }
}

impl fmt::Debug for DataSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts = |columns: &[Column]| {
            let text = |Column { form, .. }: &Column| format!("{:?} {}", form.shape, form.dtype);
            columns.iter().map(text).collect::<Vec<_>>().join(", ")
        };
        write!(f, "DataSet({} samples of {} to {})", self.len, texts(&self.inputs), texts(&self.targets))
    }
}
